"""The `files` kind: an iterative search over a code base."""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Distinct, QueryText, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Step names of the first round; those of later rounds are added as the search goes on.
WORDS: Final = "search-1-words"
VECTORS: Final = "search-1-vectors"
PATTERNS: Final = "search-1-patterns"

Channel = Literal["words", "vectors"]
Band = Literal["high", "medium", "low", "irrelevant"]

# Quoted text, sets and escapes come first: what looks like a group in them is none.
_NOT_LINEAR: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
    r"|(?P<refused>\(\?(?:[=!>(]|<[=!]|P=)|\\(?:[1-7](?![0-7])|[89]|k<))|\\.",
    re.DOTALL,
)


def _runs_in_linear_time(pattern: str) -> str:
    if any(found["refused"] for found in _NOT_LINEAR.finditer(pattern)):
        raise ValueError("no look-arounds, back references or conditions: patterns run in linear time (RE2)")
    return pattern


#: A regular expression in RE2's syntax; what only the engine can read fails the job, with the reason.
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_runs_in_linear_time)]
#: A path pattern as in ignore files: ``*.py``, ``src/**/test_*``.
Glob = Annotated[
    str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f]*[^\x00-\x20][^\x00-\x1f]*$")
]


class FileSearch(Request, Asks["FileResult"]):
    """Find the files of a code base that a caller needs who does not know yet which.

    ``iterative`` goes up to ``rounds`` rounds of search, evaluation and refinement; ``oneshot`` ranks the
    ``candidates`` of a single round. ``candidates`` are evaluated in every round; ``top_n`` cuts what is returned.
    ``query`` is words and identifiers; ``patterns`` are regular expressions for contents, ``globs`` patterns for
    paths: a file that they match becomes a candidate, and is judged by the query like any other. With ``vectors``
    among the channels the nearest files are candidates, too. The ``judge`` evaluator asks a language model for the
    relevance of each candidate. ``token_budget`` ends the rounds when the job has cost so much; ``context_budget``
    bounds the joined text of the high files, 0 makes none. Low files are returned with ``return_low``.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["files"] = "files"
    query: QueryText
    mode: Literal["iterative", "oneshot"] = "iterative"
    channels: Annotated[tuple[Channel, ...], Field(min_length=1), Distinct] = ("words",)
    patterns: Annotated[tuple[Pattern, ...], Field(max_length=8), Distinct] = ()
    globs: Annotated[tuple[Glob, ...], Field(max_length=8), Distinct] = ()
    rounds: Annotated[int, Field(ge=1, le=3)] = 3
    candidates: Annotated[int, Field(ge=20, le=50)] = 20
    top_n: Annotated[int, Field(ge=1, le=200)] = 50
    evaluator: Literal["default", "judge"] = "default"
    token_budget: Annotated[int, Field(ge=1_000, le=10_000_000)] = 200_000
    context_budget: Annotated[int, Field(ge=0, le=200_000)] = 8_000
    return_low: bool = False
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The searches of the first round, side by side; whatever follows depends on what they find."""
        vectors = (VECTORS,) if "vectors" in self.channels else ()
        patterns = (PATTERNS,) if self.patterns or self.globs else ()
        return (WORDS, *vectors, *patterns)

    def queue_of(self, step: str) -> Queue:
        """A judge is waited for elsewhere than the stores."""
        is_judged = self.evaluator == "judge" and step.startswith("evaluate")
        return Queue.RERANK if is_judged else self.queue

    @property
    def most_rounds(self) -> int:
        """How many rounds there may be; ``oneshot`` has one."""
        return 1 if self.mode == "oneshot" else self.rounds


class LineRange(Contract):
    """Lines of a file, from 1, the last included."""

    first: int
    last: int


class FileHit(Contract):
    """A file, what it is worth, and where it came from.

    ``relevance`` is to the query of the request, whatever found the file; ``found_by`` names the searches that did,
    in ``round``. ``score`` is the relevance, in ``oneshot`` the joined rank. ``explanation`` holds every number
    needed to recompute it. ``tokens`` is what reading the whole file would cost; ``excerpt`` are the lines that
    speak of the query.
    """

    path: str
    score: float
    relevance: float
    band: Band
    why: str
    round: int
    found_by: tuple[str, ...]
    tokens: int
    excerpt: tuple[LineRange, ...]
    explanation: dict[str, Any]


class RoundSummary(Contract):
    """One round: what it asked, how many files it evaluated, and how they fell into the bands."""

    round: int
    queries: tuple[str, ...]
    evaluated: int
    bands: dict[str, int]
    gaps: tuple[str, ...]


class TokenAccount(Contract):
    """What the job cost in tokens, by our estimate, beside what plain reading would have.

    ``spent`` is ``context`` (the joined text) plus ``listing`` (path, relevance and why of every file returned)
    plus ``judged`` (what a language model read and wrote to evaluate; 0 for the default evaluator, which reads no
    tokens). Reading the excerpt of every file returned, medium ones too, would cost ``returned_excerpts``, reading
    these files whole ``returned_files``; ``one_shot`` is what reading every candidate of the first round whole
    would cost, and ``all_candidates`` the same for every candidate of the job.
    """

    spent: int
    context: int
    listing: int
    judged: int
    returned_excerpts: int
    returned_files: int
    one_shot: int
    all_candidates: int


class FileResult(JobResult):
    """The answer to a `FileSearch`: high and medium files, best first. ``total`` counts them before the cut to top_n.

    ``patterns`` are the names that later rounds asked for, ``gaps`` those that high files use and that nothing
    retrieved defines. ``stop`` says why the search ended. ``files_read`` counts the files evaluated, each once.
    ``context_files`` are the files that ``context`` holds lines of.
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
