"""The `files` kind: iterative search in a code base."""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Distinct, FilePath, Growing, QueryText, Written
from querymill_shared.contracts.files.steps import FileStep, FirstSearch
from querymill_shared.contracts.filters import Filtered
from querymill_shared.contracts.history import FoundInChat, InChat
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.why_not import Absence, AsksWhyNot
from querymill_shared.queues import Queue

Channel = Literal["words", "vectors"]
Band = Literal["high", "medium", "low", "irrelevant"]
FileKind = Literal["code", "tests", "documentation", "generated"]
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")

# Quoted text, sets and escapes come first, because a parenthesis in them opens no group.
_NOT_LINEAR: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
    r"|(?P<refused>\(\?(?:[=!>(]|<[=!]|P=)|\\(?:[1-7](?![0-7])|[89]|k<))|\\.",
    re.DOTALL,
)


def _runs_in_linear_time(pattern: str) -> str:
    if any(found["refused"] for found in _NOT_LINEAR.finditer(pattern)):
        raise ValueError("must not use look-arounds, back references or conditions; patterns run in linear time (RE2)")
    return pattern


#: A regular expression in RE2's syntax. A pattern that only RE2 finds invalid fails the job, with the reason.
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_runs_in_linear_time)]
#: A path pattern as in ignore files: ``*.py``, ``src/**/test_*``.
Glob = Annotated[
    str,
    StringConstraints(min_length=1, max_length=300),
    Written(r"^[^\x00-\x1f]*[^\x00-\x20][^\x00-\x1f]*$", "must not be blank, nor have control characters"),
]


class FileSearch(Filtered, InChat, AsksWhyNot, Asks["FileResult"]):
    """Find the files in a code base that are relevant to a request.

    The mode ``iterative`` runs up to ``rounds`` rounds of search, evaluation and refinement; ``oneshot`` ranks the
    candidates of a single round. Each round evaluates at most ``candidates`` files. ``top_n`` is the number of files
    returned. ``query`` holds words and identifiers. ``patterns`` are regular expressions for contents and ``globs``
    are patterns for paths; a file that matches one becomes a candidate, and is evaluated by the query like any other.
    With ``vectors`` among the ``channels``, the files nearest to the query are candidates as well. The ``judge``
    evaluator asks a language model for the relevance of each candidate. The rounds end when the job has cost
    ``token_budget`` tokens. ``context_budget`` limits the tokens of the joined text of the high files; 0 means no
    text. With ``return_low``, low files are returned separately. Only files that pass the ``filter`` (path, language,
    metadata) are searched. ``why_not`` is the path of a file whose absence the result should explain.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["files"] = "files"
    query: Annotated[QueryText, Field(description="the question: words and identifiers")]
    mode: Annotated[
        Literal["iterative", "oneshot"],
        Field(description="iterative: rounds of search and evaluation; oneshot: a single round"),
    ] = "iterative"
    channels: Annotated[tuple[Channel, ...], Field(min_length=1, description="what is searched"), Distinct] = ("words",)
    patterns: Annotated[
        tuple[Pattern, ...], Field(max_length=8, description="regular expression for contents (RE2)"), Distinct
    ] = ()
    globs: Annotated[
        tuple[Glob, ...], Field(max_length=8, description="pattern for paths, as in ignore files"), Distinct
    ] = ()
    rounds: Annotated[int, Field(ge=1, le=3, description="maximum rounds")] = 3
    candidates: Annotated[int, Field(ge=20, le=50, description="files evaluated per round")] = 20
    top_n: Annotated[int, Field(ge=1, le=200, description="number of files returned")] = 50
    evaluator: Annotated[
        Literal["default", "judge"],
        Field(description="what says how relevant a file is: default (evidence), judge (a chat model)"),
    ] = "default"
    token_budget: Annotated[
        int, Field(ge=1_000, le=10_000_000, description="tokens after which no further round begins")
    ] = 200_000
    context_budget: Annotated[int, Field(ge=0, le=200_000, description="token budget for `context`; 0 = none")] = 8_000
    return_low: Annotated[bool, Field(description="also return files of low relevance")] = False
    under: Annotated[tuple[Glob, ...], Field(max_length=20, description="search only below this folder"), Distinct] = ()
    exclude: Annotated[
        tuple[Glob, ...], Field(max_length=20, description="exclude files that match this pattern"), Distinct
    ] = ()
    kinds: Annotated[
        tuple[FileKind, ...], Field(description="kinds of files that are searched (default: all)"), Distinct
    ] = ()
    why_not: Annotated[FilePath | None, Field(description="explain why this file was not returned, by its path")] = None
    deadline: DeadlineSeconds = 30.0

    @property
    def searched_channels(self) -> tuple[Channel, ...]:
        """The channels, and vectors for a question in Chinese: code in another language shares few words with it."""
        is_chinese = "vectors" not in self.channels and _CHINESE.search(self.query) is not None
        return (*self.channels, "vectors") if is_chinese else self.channels

    @property
    def steps(self) -> tuple[str, ...]:
        """The searches of the first round, which run side by side. The steps that follow depend on what they find."""
        searches: list[FirstSearch] = ["words"]
        searches += ["vectors"] if "vectors" in self.searched_channels else []
        searches += ["patterns"] if self.patterns or self.globs else []
        return tuple(str(FileStep("search", 1, search)) for search in searches)

    def queue_of(self, step: str) -> Queue:
        """Return the queue of a step: evaluations that wait for a judge do not hold up searches."""
        place = FileStep.parse(step)
        is_judged = self.evaluator == "judge" and place is not None and place.stage == "evaluate"
        return Queue.RERANK if is_judged else self.queue

    @property
    def max_rounds(self) -> int:
        """The maximum number of rounds; 1 for ``oneshot``."""
        return 1 if self.mode == "oneshot" else self.rounds


class LineRange(Contract):
    """Lines of a file, counted from 1; ``last`` is included."""

    first: int
    last: int


class FileHit(Contract):
    """A file, how relevant it is, and which searches found it.

    ``relevance`` is always to the query of the request. ``found_by`` names the searches that found the file, in
    ``round``. ``score`` is the relevance, or in ``oneshot`` the fused rank. ``explanation`` holds every number needed
    to recompute it. ``tokens`` is the cost of reading the whole file; ``excerpt`` are the lines most relevant to the
    query, and ``cells`` those of a notebook that they are in, counted from 1. ``metadata`` is that of the file, if the
    request has a filter. ``kind`` marks tests, documentation and generated files.
    """

    path: str
    score: float
    relevance: float
    band: Annotated[Band, Growing]
    why: str
    round: int
    found_by: tuple[str, ...]
    tokens: int
    excerpt: tuple[LineRange, ...]
    explanation: dict[str, Any]
    metadata: dict[str, Any] | None = None
    kind: Annotated[FileKind, Growing] = "code"
    cells: tuple[int, ...] = ()


class RoundSummary(Contract):
    """One round: its queries, the number of files it evaluated, their number in each band, and the gaps left."""

    round: int
    queries: tuple[str, ...]
    evaluated: int
    bands: dict[str, int]
    gaps: tuple[str, ...]


class TokenAccount(Contract):
    """The estimated cost of the job in tokens, next to the cost of reading files.

    ``spent`` is ``context`` (the joined text) plus ``listing`` (path, relevance and why of every file returned) plus
    ``judged`` (read and written by a language model to evaluate; 0 for the default evaluator). The other fields are
    what reading would cost: ``returned_excerpts`` the excerpts of the files returned, ``returned_files`` these files
    whole, ``one_shot`` every candidate of the first round, and ``all_candidates`` every candidate of the job.

    An agent without this search would rather read ``grep``, 20 lines around each line of the first candidates with one
    of the request's two rarest words, and then ``top_files``, the best five files whole.
    """

    spent: int
    context: int
    listing: int
    judged: int
    returned_excerpts: int
    returned_files: int
    one_shot: int
    all_candidates: int
    grep: int = 0
    top_files: int = 0


class FileResult(FoundInChat):
    """The result of a `FileSearch`: high and medium files, best first. ``total`` counts them before ``top_n`` applies.

    ``patterns`` are the names that later rounds searched; ``gaps`` are names that high files use and no retrieved file
    defines. ``stop`` says why the search ended. ``files_read`` counts the files evaluated. ``context_files`` are the
    files whose lines are in ``context``.
    """

    kind: Literal["files"] = "files"
    query: str
    collection: str
    mode: Literal["iterative", "oneshot"]
    results: tuple[FileHit, ...]
    low: tuple[FileHit, ...] = ()
    patterns: tuple[str, ...]
    gaps: tuple[str, ...]
    rounds: tuple[RoundSummary, ...]
    stop: str
    files_read: int
    token_account: TokenAccount
    context: str
    context_files: tuple[str, ...]
    why_not: Absence | None = None
