"""The `reports` kind: find pages or passages of reports that answer a question."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.answer import (
    ANSWER_TOKENS,
    AnswerTokens,
    PassageTokens,
    WrittenAnswer,
)
from querymill_shared.contracts.expansion import Expands
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    FilePath,
    Name,
    PositiveFloat,
    QueryText,
    Sha1,
    TopN,
)
from querymill_shared.contracts.filters import FilteredSearch
from querymill_shared.contracts.history import FoundInChat
from querymill_shared.contracts.rerank import Combine, Reranks, judges_batch, most_judged
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.vectors_weight import WeighsVectors
from querymill_shared.contracts.why_not import Absence, AsksWhyNot
from querymill_shared.queues import Queue

#: The step that explains an absence.
WHY_NOT = "why-not"

#: ``hybrid`` joins the order of the fusion with that of the words; ``agreement`` is the fusion alone.
Ranking = Literal["hybrid", "agreement"]
Unit = Literal["page", "chunk"]

#: Passages (or pages) fetched for each query and document, unless the request says otherwise.
CANDIDATES = 10


class ReportSearch(FilteredSearch, WeighsVectors, Expands, Reranks, AsksWhyNot, Asks["ReportResult"]):
    """Find the passages or pages of reports that answer a question.

    ``top_n`` is the number of hits returned. ``candidates`` is the number of passages (or pages, if pages are
    returned) that each query fetches from each routed document: by default 10, or ``top_n`` or what a judge
    reads if that is more.
    ``company`` and ``period`` choose the reports instead of the question's own words; ``documents`` names the reports
    explicitly. ``today`` is today's date where the caller is, to which "last year" refers (by default the day of
    submission in UTC). Only reports that pass the ``filter`` are chosen. With ``metadata`` each hit has that of its
    report.

    With ``glossary`` the words by which reports state the question's terms are searched too: for a quick ratio, the
    lines of a balance sheet. ``ranking`` says what orders the hits. With ``rerank`` (see `Reranks`) the best are
    ordered by relevance and similarity, combined by ``combine``.

    A question that refers back to ``history`` is also searched as a chat model rewrites it, unless ``standalone`` is
    False. By default it is where a chat model writes answers (`CHAT_MODEL`, `QUERYMILL_ANSWERS`), if that replies soon.

    With ``answer`` a chat model answers the question from the final hits, and with ``judge`` that answer is judged.
    ``answer_tokens`` is the maximum length of the answer, and ``passage_tokens`` limits all hits in the prompt.

    ``why_not`` names a report by its id, or a page or passage as ``ab12/page/3`` or ``ab12/chunk/7``: a step of its own
    says in the result why that is not among the hits.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["reports"] = "reports"
    query: Annotated[QueryText, Field(description="the question")]
    top_n: Annotated[TopN, Field(description="number of hits returned")] = 10
    candidates: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None, Field(description="passages fetched per query and document")
    ] = None
    return_parent_pages: Annotated[bool, Field(description="return pages, not passages")] = False
    inner_factor: Annotated[PositiveFloat, Field(description="weight of the inner product")] = 1.0
    company: Annotated[Name | None, Field(description="search only this company's reports")] = None
    period: Annotated[Name | None, Field(description="search only this period's reports: 2022, FY2021 Q3")] = None
    documents: Annotated[
        Annotated[tuple[Sha1, ...], Field(min_length=1, max_length=1000), Distinct] | None,
        Field(description="search only these reports, by id"),
    ] = None
    today: Annotated[date | None, Field(description="today's date where you are (default: today in UTC)")] = None
    ranking: Annotated[
        Ranking, Field(description="hybrid: vector and keyword ranking joined; agreement: vector ranking alone")
    ] = "hybrid"
    combine: Annotated[
        Combine, Field(description="how relevance and similarity become the score of a reranked hit")
    ] = "product"
    glossary: Annotated[bool, Field(description="also search the words that reports use for the question's terms")] = (
        True
    )
    answer: Annotated[bool, Field(description="let a chat model answer from the hits, with citations")] = False
    judge: Annotated[bool, Field(description="judge the answer: grounded, relevant, complete")] = False
    answer_tokens: Annotated[AnswerTokens, Field(description="maximum length of the answer in tokens")] = ANSWER_TOKENS
    passage_tokens: Annotated[PassageTokens, Field(description="token budget for the hits in the prompt")] = None
    why_not: Annotated[
        FilePath | None,
        Field(description="explain why this report, page or passage was not returned: ab12, ab12/page/3, ab12/chunk/7"),
    ] = None
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="after")
    def _candidates_cover_top_n(self) -> "ReportSearch":
        if self.candidates is not None and self.candidates < self.top_n:
            raise ValueError(f"candidates ({self.candidates}) must be at least top_n ({self.top_n})")
        return self

    @model_validator(mode="after")
    def _an_answer_is_judged(self) -> "ReportSearch":
        if self.judge and not self.answer:
            raise ValueError("judge: needs answer=true, because the answer is what is judged")
        return self

    @property
    def depth(self) -> int:
        """Number of passages that each query fetches from each routed document."""
        if self.candidates is not None:
            return self.candidates
        return max(CANDIDATES, self.top_n, most_judged(self.deadline) if self.rerank else 0)

    @property
    def steps(self) -> tuple[str, ...]:
        """The branches of this search, the original first. The steps that rerank, answer and judge are added later."""
        return (ORIGINAL, *self.expansions)

    def queue_of(self, step: str) -> Queue:
        """Return the queue of a step. The original needs only the stores; the others wait for a model."""
        needs_no_chat = step in (ORIGINAL, WHY_NOT) or judges_batch(step)
        return super().queue_of(step) if needs_no_chat else Queue.EXPAND


class Routing(Contract):
    """The reports that were searched, and why.

    Attributes:
        documents: number of reports that were searched
        companies: companies that the question is about and the collection has; empty if it is about none
        period: the periods that the question asks about, even without a report of them; null if it names none
        whole_collection: whether all reports were searched, because neither company nor period narrowed the search
        reason: how the reports were chosen, in words
    """

    documents: int
    companies: tuple[str, ...] = ()
    period: str | None = None
    whole_collection: bool = False
    reason: str


class ReportHit(Contract):
    """A page or a chunk of a report.

    Attributes:
        document: id of the report
        unit: "page" with return_parent_pages, else "chunk", a passage of a page
        number: number of the page, as ingested, or of the passage in its report, from 0
        page: number of the page that it is or is from, as ingested
        title: title of the report
        company: company of the report; null if it has none
        period: period of the report, as ingested; null if it has none
        text: text of the page or passage
        score: 1 / (10 + rank by words) + weight / (10 + rank by vectors); of vectors alone max inner product ×
            inner_factor × (1 + 0.2 × (queries − 1)); after a rerank relevance and similarity combined
        similarity: largest inner product of the hit and a query; 0 if no vector found it
        explanation: formula of the score, and every number needed to recompute it
        metadata: metadata of the report; null unless the request asks for it or has a filter
        relevance: relevance to the question that a judge gave, 0 to 1; null if the hit was not judged
    """

    document: str
    unit: Unit
    number: int
    page: int
    title: str
    company: str | None
    period: str | None
    text: str
    score: float
    similarity: float
    explanation: dict[str, Any]
    metadata: Mapping[str, Any] | None = None
    relevance: float | None = None


class ReportResult(FoundInChat):
    """The result of a `ReportSearch`. ``total`` is the number of hits before the cut to top_n.

    Attributes:
        query: the question, as in the request
        collection: name of the collection that was searched
        results: the pages or passages, best first
        routing: reports that were searched, and why
        answer: answer from the hits, whose citations number them from 1; null unless it was requested and written
        why_not: why the report, page or passage that the request names is not among the hits; null if it names none
        terms: terms of the question that the glossary knows, each with the words that were searched for it
    """

    kind: Literal["reports"] = "reports"
    query: str
    collection: str
    results: tuple[ReportHit, ...]
    routing: Routing
    answer: WrittenAnswer | None = None
    why_not: Absence | None = None
    terms: Mapping[str, str] = Field(default_factory=dict)
