"""The `reports` kind: a question in, pages or passages of reports out."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from querymill_shared.contracts.answer import (
    ANSWER_TOKENS,
    AnswerTokens,
    PassageTokens,
    WrittenAnswer,
)
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    Name,
    PositiveFloat,
    QueryText,
    Request,
    Sha1,
    TopN,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: The branch that searches the question as it was asked; every search has it.
ORIGINAL = "original"
#: The branch that searches a hypothetical answer (Gao et al., "Precise Zero-Shot Dense Retrieval", 2022).
HYDE = "hyde"

MultiQueryMethod = Literal["synonym", "subquestion", "variant"]
Unit = Literal["page", "chunk"]

#: Passages, or pages, fetched per query and document unless the request says otherwise.
CANDIDATES = 10


class ReportSearch(Request, Asks["ReportResult"]):
    """Find the passages, or the pages, of reports that answer a question.

    ``top_n`` cuts the fused list; ``candidates`` is how many passages (or pages, where those are returned)
    each query fetches from each routed document: by default 10, or ``top_n`` where that is more. ``company``
    and ``period`` route instead of the question's own words; ``documents`` names the reports outright.
    ``today`` is the caller's calendar day, which "last year" is relative to (by default the day of
    submission in UTC).

    With ``answer`` a chat model answers the question from the hits, once these stand, and with ``judge`` that
    answer is judged; ``answer_tokens`` and ``passage_tokens`` are the longest answer asked for and what the
    hits may take of the prompt.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["reports"] = "reports"
    query: QueryText
    top_n: TopN = 10
    candidates: Annotated[int, Field(ge=1, le=1000)] | None = None
    hyde: bool = False
    multi_query: Annotated[tuple[MultiQueryMethod, ...], Distinct] = ()
    return_parent_pages: bool = False
    inner_factor: PositiveFloat = 1.0
    company: Name | None = None
    period: Name | None = None
    documents: Annotated[tuple[Sha1, ...], Field(min_length=1, max_length=1000), Distinct] | None = None
    today: date | None = None
    answer: bool = False
    judge: bool = False
    answer_tokens: AnswerTokens = ANSWER_TOKENS
    passage_tokens: PassageTokens = None
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="after")
    def _candidates_cover_top_n(self) -> "ReportSearch":
        if self.candidates is not None and self.candidates < self.top_n:
            raise ValueError(f"candidates ({self.candidates}) must be at least top_n ({self.top_n})")
        return self

    @model_validator(mode="after")
    def _an_answer_is_judged(self) -> "ReportSearch":
        if self.judge and not self.answer:
            raise ValueError("judge: needs answer, there is nothing else to judge")
        return self

    @property
    def depth(self) -> int:
        """How many passages each query fetches from each routed document."""
        return max(CANDIDATES, self.top_n) if self.candidates is None else self.candidates

    @property
    def steps(self) -> tuple[str, ...]:
        """The branches this search fans out into, the original first; answer and judge follow from them."""
        return (ORIGINAL, *((HYDE,) if self.hyde else ()), *self.multi_query)

    def queue_of(self, step: str) -> Queue:
        """The original needs only the stores; the others wait for the chat model."""
        return self.queue if step == ORIGINAL else Queue.EXPAND


class Routing(Contract):
    """Which reports were searched, and why these."""

    documents: int
    companies: tuple[str, ...] = ()
    period: str | None = None
    whole_collection: bool = False
    reason: str


class ReportHit(Contract):
    """A page or a chunk of a report.

    ``score`` is the fused score, ``similarity`` the largest inner product alone; ``explanation`` holds every
    number needed to recompute the score by hand.
    """

    document: str
    unit: Unit
    number: int
    page: int
    title: str
    company: str
    period: str | None
    text: str
    score: float
    similarity: float
    explanation: dict[str, Any]


class ReportResult(JobResult):
    """The answer to a `ReportSearch`, best hit first. ``total`` counts the hits before the cut to top_n.

    ``answer`` is None unless one was asked for and could be had; its citations are numbered as the hits are.
    """

    kind: Literal["reports"] = "reports"
    query: str
    collection: str
    results: tuple[ReportHit, ...]
    routing: Routing
    expansion_texts: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    answer: WrittenAnswer | None = None
