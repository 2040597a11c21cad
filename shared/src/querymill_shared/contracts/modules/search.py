"""The `modules` kind: a request in, code that uses the modules it speaks of out."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    QueryText,
    Request,
)
from querymill_shared.contracts.modules.ingest import DocumentId
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: The branch that searches the request as it stands; every search has it.
ORIGINAL = "original"
#: The branch in which a chat model splits the request into weighted sub-queries.
SPLIT = "split"

Channel = Literal["modules", "text"]
MatchMode = Literal["suffix", "exact"]
ScoreMode = Literal["hits", "coverage"]


#: Weight of a sub-query that names none.
WEIGHT = 5.0
#: Documents taken from each channel unless the request says otherwise.
CANDIDATES = 50


class SubQuery(Contract):
    """A part of the request with its weight; a plain string is one of weight 5."""

    description: QueryText
    weight: Annotated[FiniteFloat, Field(ge=0)] = WEIGHT


def _with_weight(part: object) -> object:
    return {"description": part} if isinstance(part, str) else part


class ModuleSearch(Request, Asks["ModuleResult"]):
    """Find the documents whose code uses the modules that a request speaks of.

    ``top_k`` cuts the ranking; ``candidates`` is how many documents each channel brings to it. ``sub_queries``
    weigh the parts of the request; without them the query is the only one, unless ``split`` lets a chat model
    find parts. ``channels=["modules"]`` gives the module scores alone. ``prompt_tokens`` is the budget of the
    prompt that is built from the hits; 0 builds none. ``match`` is "exact" by default because that measures better.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["modules"] = "modules"
    query: QueryText
    sub_queries: Annotated[tuple[Annotated[SubQuery, BeforeValidator(_with_weight)], ...], Field(max_length=32)] = ()
    top_k: Annotated[int, Field(ge=1, le=100)] = 6
    candidates: Annotated[int, Field(ge=1, le=1000)] = CANDIDATES
    match: MatchMode = "exact"
    mode: ScoreMode = "hits"
    channels: Annotated[tuple[Channel, ...], Field(min_length=1), Distinct] = ("modules", "text")
    lexicon: bool = True
    split: bool = False
    prompt_tokens: Annotated[int, Field(ge=0, le=200_000)] = 4_000
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="after")
    def _candidates_cover_top_k(self) -> "ModuleSearch":
        if self.candidates < self.top_k:
            raise ValueError(f"candidates ({self.candidates}) must be at least top_k ({self.top_k})")
        return self

    @property
    def steps(self) -> tuple[str, ...]:
        """The branches: the request as it stands, and split into parts where that is wanted and not given."""
        return (ORIGINAL, SPLIT) if self.split and not self.sub_queries else (ORIGINAL,)

    def queue_of(self, step: str) -> Queue:
        """A chat model splits the request; the other branch needs only the stores."""
        return Queue.EXPAND if step == SPLIT else self.queue


class AskedModule(Contract):
    """A module that a sub-query asks for, the rule that produced it, and the words that did."""

    module: str
    rule: str
    text: str


class RawRecall(Contract):
    """What recall returned for one sub-query, before fusion: how many documents, and the first of them."""

    description: str
    weight: float
    normalized_weight: float
    modules: tuple[AskedModule, ...]
    total: int
    documents: tuple[DocumentId, ...]


class RankedDocument(Contract):
    """A document's place in the whole ranking, before the cut to top_k; ``channels`` are its ranks, from 1."""

    rank: int
    document: DocumentId
    score: float
    channels: dict[str, int]


class ModuleDocumentHit(Contract):
    """A code document.

    ``score`` is the module score where only that channel was searched, else the weighted RRF of the channels that
    found it (``channels``: rank and score in each). ``explanation`` and ``match_explanation`` hold every number
    needed to recompute it by hand; ``rerank_score`` is the same number under its older name.
    """

    document: DocumentId
    file_path: str
    code: str
    description: str
    modules: tuple[str, ...]
    metadata: dict[str, Any]
    score: float
    rerank_score: float
    channels: dict[str, dict[str, float]]
    match_explanation: tuple[dict[str, Any], ...]
    matched_keywords: tuple[str, ...]
    explanation: dict[str, Any]


class ModuleResult(JobResult):
    """The answer to a `ModuleSearch`, best hit first. ``total`` counts the ranking before the cut to top_k."""

    kind: Literal["modules"] = "modules"
    query: str
    collection: str
    results: tuple[ModuleDocumentHit, ...]
    searched_by: str
    lexicon_version: int
    raw_history: tuple[RawRecall, ...]
    reranked_history: tuple[RankedDocument, ...]
    prompt: str
