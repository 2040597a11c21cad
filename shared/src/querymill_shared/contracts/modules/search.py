"""The `modules` kind: search code documents by the modules that a request asks for."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from querymill_shared.branches import ORIGINAL, own_step
from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    FilePath,
    QueryText,
)
from querymill_shared.contracts.filters import Filtered
from querymill_shared.contracts.history import FoundInChat
from querymill_shared.contracts.modules.ingest import DocumentId
from querymill_shared.contracts.rerank import Reranks
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.vectors_weight import WeighsVectors
from querymill_shared.contracts.why_not import Absence, AsksWhyNot
from querymill_shared.queues import Queue

#: The branch in which a chat model splits the request into weighted sub-queries.
SPLIT = "split"

Channel = Literal["modules", "text", "vectors"]
Channels = Annotated[tuple[Channel, ...], Field(min_length=1), Distinct]
MatchMode = Literal["suffix", "exact"]
ScoreMode = Literal["hits", "coverage"]


#: The weight of a sub-query that has none.
WEIGHT = 5.0
#: The default number of documents that each channel contributes.
CANDIDATES = 50


class SubQuery(Contract):
    """A part of the request with its weight. A plain string is a part of weight 5."""

    description: Annotated[QueryText, Field(description="text of the part")]
    weight: Annotated[FiniteFloat, Field(ge=0, description="weight of the part")] = WEIGHT


def _with_weight(part: object) -> object:
    return {"description": part} if isinstance(part, str) else part


class ModuleSearch(Filtered, WeighsVectors, ExpandsInBranches, Reranks, AsksWhyNot, Asks["ModuleResult"]):
    """Find code documents that use the modules a request asks for.

    The modules and the text of the request are searched, and each of the ``sub_queries`` is a text channel of its own
    with its share of the weights (``text:1``, ``text:2`` …), so that the weights count in every channel.

    ``channels`` names what is searched. By default that is "modules" and "text", and "vectors" as well for a Chinese
    request, and where they are worth it: they compare the descriptions (``vectors:1`` … for the sub-queries), and join
    with ``vectors_weight``.

    ``top_k`` is the number of hits returned, and ``candidates`` the number of documents that each channel contributes
    to the ranking. ``sub_queries`` are the weighted parts of the request. Without them the query is the only part,
    unless ``split`` lets a chat model find parts. ``channels=["modules"]`` ranks by module scores alone. ``match`` is
    "exact" by default because that measures better. ``prompt_tokens`` limits the prompt that is built from the hits;
    0 builds none. Only documents that pass the ``filter`` (module, path, metadata) are searched. ``why_not`` is the id
    of a document whose absence the result should explain.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["modules"] = "modules"
    query: Annotated[QueryText, Field(description="the request")]
    sub_queries: Annotated[
        tuple[Annotated[SubQuery, BeforeValidator(_with_weight)], ...],
        Field(max_length=32, description="part of the request, with its weight"),
    ] = ()
    top_k: Annotated[int, Field(ge=1, le=100, description="number of documents returned")] = 6
    candidates: Annotated[int, Field(ge=1, le=1000, description="documents taken from each channel")] = CANDIDATES
    match: Annotated[MatchMode, Field(description="how a module's name must match")] = "exact"
    mode: Annotated[ScoreMode, Field(description="what the score of modules counts")] = "hits"
    channels: Annotated[Channels | None, Field(description="what is searched")] = None
    lexicon: Annotated[bool, Field(description="expand plain words to module names (learned lexicon)")] = True
    split: Annotated[bool, Field(description="let a chat model split the request into parts")] = False
    prompt_tokens: Annotated[
        int, Field(ge=0, le=200_000, description="token budget for the prompt built from the hits; 0 = none")
    ] = 4_000
    why_not: Annotated[FilePath | None, Field(description="explain why this document was not returned, by its id")] = (
        None
    )
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="after")
    def _candidates_cover_top_k(self) -> "ModuleSearch":
        if self.candidates < self.top_k:
            raise ValueError(f"candidates ({self.candidates}) must be at least top_k ({self.top_k})")
        return self

    @property
    def steps(self) -> tuple[str, ...]:
        """The branches: ``original``, and ``split`` if ``split`` is set and no sub-queries are given."""
        return self.steps_beside((ORIGINAL, SPLIT) if self.split and not self.sub_queries else (ORIGINAL,))

    def queue_of(self, step: str) -> Queue:
        """Return the queue of a step: a chat model splits the request and writes beside it; the rest needs stores."""
        return Queue.EXPAND if own_step(step) == SPLIT else super().queue_of(step)


class AskedModule(Contract):
    """A module that a part of the request asks for.

    Attributes:
        module: name of the module, without its dotted path
        rule: how it was found: path, class, shorthand, words (of a shorthand), alias or lexicon
        text: the words of the request that it was found by
    """

    module: str
    rule: str
    text: str


class RawRecall(Contract):
    """What recall by modules found for one part of the request, before scoring and fusion.

    Attributes:
        description: text of the part
        weight: weight of the part, as given
        normalized_weight: share of the part in all weights, 0 to 1
        modules: modules that the part asks for
        total: number of documents that have one of these modules; 0 if modules were not searched
        documents: ids of the best of these documents, best first, at most `candidates`
    """

    description: str
    weight: float
    normalized_weight: float
    modules: tuple[AskedModule, ...]
    total: int
    documents: tuple[DocumentId, ...]


class RankedDocument(Contract):
    """A document's place in the whole ranking, before the cut to ``top_k``.

    Attributes:
        rank: place in the ranking, from 1
        document: id of the document: its faiss_id, or else its file_path
        score: the score that the ranking is ordered by, rounded to 6 places
        channels: rank in each channel that found the document, from 1; equal scores share a rank
    """

    rank: int
    document: DocumentId
    score: float
    channels: dict[str, int]


class ModuleDocumentHit(Contract):
    """A code document.

    Attributes:
        document: id of the document: its faiss_id, or else its file_path
        file_path: path of the code, as ingested
        code: text of the code
        description: what the code does, as ingested; may be empty
        modules: dotted names of the modules that the code uses
        metadata: the unknown fields that the document was ingested with
        score: module score if only modules were searched, else Σ weight / (60 + rank) over the channels that found it
        rerank_score: the same number as score, under its older name
        channels: for each channel that found the document its rank, from 1, and its score there: the module score, the
            score by words or the cosine
        match_explanation: for each part of the request its weight and the modules of it that the document has; empty if
            the module channel did not find the document
        matched_keywords: modules that the request asks for and the document has, each once
        explanation: formula of the score, with the weights of the channels
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


class ModuleResult(FoundInChat):
    """The result of a `ModuleSearch`. ``total`` is the length of the ranking before the cut to ``top_k``.

    Attributes:
        query: the request in words, as given
        collection: name of the collection that was searched
        results: the documents, best first
        searched_by: branch that the result comes from: "split" if a chat model found parts, else "original"
        lexicon_version: number of the collection's lexicon; 0 if none was learned yet
        unknown_modules: modules that the request names by path or class name and that no document uses
        raw_history: what recall by modules found for each part of the request
        reranked_history: the whole ranking, before the cut to top_k
        prompt: the request and the best documents for a model that writes code, within prompt_tokens; "" for 0
        why_not: why the document that the request names is not among the hits; null if it names none
    """

    kind: Literal["modules"] = "modules"
    query: str
    collection: str
    results: tuple[ModuleDocumentHit, ...]
    searched_by: str
    lexicon_version: int
    unknown_modules: tuple[str, ...] = ()
    raw_history: tuple[RawRecall, ...]
    reranked_history: tuple[RankedDocument, ...]
    prompt: str
    why_not: Absence | None = None
