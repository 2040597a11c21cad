"""The `files` kind: iterative search in a code base."""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from querymill_shared.branches import own_step
from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Distinct, FilePath, Growing, QueryText, Written
from querymill_shared.contracts.files.steps import FileStep, FirstSearch
from querymill_shared.contracts.filters import Filtered
from querymill_shared.contracts.history import FoundInChat
from querymill_shared.contracts.rerank import Reranks
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.vectors_weight import WeighsVectors
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


class FileSearch(Filtered, WeighsVectors, ExpandsInBranches, Reranks, AsksWhyNot, Asks["FileResult"]):
    """Find the files in a code base that are relevant to a request.

    The mode ``iterative`` runs up to ``rounds`` rounds of search, evaluation and refinement; ``oneshot`` ranks the
    candidates of a single round. Each round evaluates at most ``candidates`` files. ``top_n`` is the number of files
    returned. ``query`` holds words and identifiers. ``patterns`` are regular expressions for contents and ``globs``
    are patterns for paths; a file that matches one becomes a candidate, and is evaluated by the query like any other.
    The files nearest to the query are candidates as well with ``vectors`` among the ``channels``, for a question in
    Chinese, and where the model is estimated to be worth it on this collection, unless ``vectors_weight`` is 0. The
    ``judge``
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
    channels: Annotated[
        tuple[Channel, ...],
        Field(min_length=1, description="what is searched; vectors are, too, where they are estimated to be worth it"),
        Distinct,
    ] = ("words",)
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
        """The channels with a search of their own. So have vectors for a question in Chinese.

        Code in another language shares few words with it.
        """
        is_chinese = "vectors" not in self.channels and _CHINESE.search(self.query) is not None
        return (*self.channels, "vectors") if is_chinese else self.channels

    @property
    def steps(self) -> tuple[str, ...]:
        """The searches of the first round, which run side by side. The steps that follow depend on what they find."""
        searches: list[FirstSearch] = ["words"]
        searches += ["vectors"] if "vectors" in self.searched_channels else []
        searches += ["patterns"] if self.patterns or self.globs else []
        return self.steps_beside([str(FileStep("search", 1, search)) for search in searches])

    def queue_of(self, step: str) -> Queue:
        """Return the queue of a step: evaluations that wait for a judge do not hold up searches."""
        place = FileStep.parse(own_step(step))
        is_judged = self.evaluator == "judge" and place is not None and place.stage == "evaluate"
        return Queue.RERANK if is_judged else super().queue_of(step)

    @property
    def max_rounds(self) -> int:
        """The maximum number of rounds; 1 for ``oneshot``."""
        return 1 if self.mode == "oneshot" else self.rounds


class LineRange(Contract):
    """Lines of a file.

    Attributes:
        first: number of the first line, from 1
        last: number of the last line, which is included
    """

    first: int
    last: int


class FileHit(Contract):
    """A file, how relevant it is, and which searches found it.

    Attributes:
        path: path of the file relative to the root of the code base
        score: the relevance; in `oneshot` the weighted reciprocal rank fusion of the searches that found the file
        relevance: 0 to 1, to the query of the request: calibrated evidence, or the number of a language model
        band: band of the relevance: high from 0.8, medium from 0.5, low from 0.2, else irrelevant
        why: what the file has of the query, in one line
        round: round that found and evaluated the file, from 1
        found_by: searches of this round that found the file, such as `words`, `vectors` or `name` with a name
        tokens: estimated tokens of the whole file
        excerpt: lines of the definitions most relevant to the query; empty for a file with none of its words
        explanation: every number needed to recompute the relevance: formula, weights, evidence and bands
        metadata: metadata of the file; null unless the request has a filter
        kind: what the file is; tests, documentation and generated files rank below code unless asked for
        cells: cells of a notebook that the excerpt is in, from 1; empty for other files
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
    """One round of search and evaluation.

    Attributes:
        round: number of the round, from 1
        queries: searches of the round, such as `words`, `vectors`, or `name`, `pattern` or `glob` with what it searched
        evaluated: number of files that the round evaluated
        bands: number of these files by band of relevance: high, medium, low, irrelevant
        gaps: names that high files use and no retrieved file defines, after the round, those of most weight first
    """

    round: int
    queries: tuple[str, ...]
    evaluated: int
    bands: dict[str, int]
    gaps: tuple[str, ...]


class TokenAccount(Contract):
    """The estimated cost of the job in tokens, next to the cost of reading files.

    An agent without this search would read ``grep`` and then ``top_files``.

    Attributes:
        spent: tokens that the job cost: context + listing + judged
        context: tokens of the joined text of the result
        listing: tokens of path, relevance and why of every file returned
        judged: tokens that a language model read and wrote to evaluate; 0 for the default evaluator
        returned_excerpts: tokens of the excerpts of the files returned
        returned_files: tokens of the files returned, read whole
        one_shot: tokens of every file that the first round evaluated, read whole
        all_candidates: tokens of every file that the job evaluated, read whole
        grep: tokens of 20 lines around each line of the first round's files with one of the query's two rarest words
        top_files: tokens of the best five files returned, read whole
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
    """The result of a `FileSearch`. ``total`` counts its files before ``top_n`` applies.

    Attributes:
        query: the question, as in the request
        collection: name of the collection that was searched
        mode: mode of the request
        results: files of high and medium relevance, best first, and first of all those that the query names by path; in
            `oneshot` all evaluated files, by fused rank
        low: files of low relevance, best first; empty unless `return_low` is set, and in `oneshot`
        patterns: names that later rounds searched, in order
        gaps: names that high files use and no retrieved file defines, those of most weight first; at most 20
        rounds: what each round searched and found, in order
        stop: why the search ended: enough, rounds, token budget, no new query, nothing added, one shot, a step failed
            or deadline
        files_read: number of files that were evaluated
        token_account: what the job cost in tokens, and what reading the files would have cost
        context: the best definitions of the files returned and a map of the others, within context_budget; "" for 0
        context_files: paths of the files whose definitions are in the context
        why_not: why the file that the request names is not among the hits; null if it names none
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
