"""The `modules` kind: searching code by the modules it uses, taking a document in, learning the lexicon."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, FiniteFloat, StringConstraints, model_validator

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    FilePath,
    Lane,
    PageText,
    QueryText,
    Request,
)
from querymill_shared.contracts.results import Asks, JobResult

#: The branch that searches the request as it stands; every search has it.
ORIGINAL = "original"
#: The branch in which a chat model splits the request into weighted sub-queries.
SPLIT = "split"

Channel = Literal["modules", "text"]
MatchMode = Literal["suffix", "exact"]
ScoreMode = Literal["hits", "coverage"]

#: A document's ``faiss_id`` if it is not None, else its ``file_path``. An id of 0 is an id.
DocumentId = Annotated[int, Field(strict=True)] | str

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


def _without_bare_vtk(names: object) -> object:
    """Pass over the bare word ``vtk``, which is never a module."""
    if not isinstance(names, list | tuple):
        return names
    return [name for name in names if not (isinstance(name, str) and _is_bare(name))]


def _is_bare(dotted: str) -> bool:
    return dotted.rpartition(".")[2].lower() == "vtk"


#: Dotted ASCII names: what a document's module may be called.
ModuleName = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$"),
]


class MetaInfo(Described):
    """What is known about a document's code; fields we do not know are kept as metadata."""

    vtkjs_modules: Annotated[
        tuple[ModuleName, ...], Field(min_length=1, max_length=500), BeforeValidator(_without_bare_vtk)
    ]
    description: PageText = ""


class ModuleDocument(Described):
    """A code document as it is ingested; fields we do not know are kept as metadata."""

    faiss_id: Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)] | None = None
    file_path: FilePath
    code: PageText
    meta_info: MetaInfo

    @property
    def document(self) -> int | str:
        """The document's id."""
        return self.file_path if self.faiss_id is None else self.faiss_id

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The fields we do not know."""
        own = dict(self.model_extra or {})
        return own | ({"meta_info": self.meta_info.model_extra} if self.meta_info.model_extra else {})


class IngestModule(Request, Asks["IngestModuleResult"]):
    """Take one code document in. Idempotent by content."""

    kind: Literal["ingest_modules"] = "ingest_modules"
    lane: Lane = Lane.BULK
    document: ModuleDocument
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step."""
        return ("ingest",)


class IngestModuleResult(JobResult):
    """What ingestion did; ``outcome`` is "unchanged" when the same content was already there."""

    kind: Literal["ingest_modules"] = "ingest_modules"
    document: DocumentId
    outcome: Literal["ingested", "unchanged"]


class LearnLexicon(Request, Asks["LexiconResult"]):
    """Learn a collection's lexicon anew: which words of descriptions speak of which modules.

    In the ``background`` it first waits for more documents: whoever ingests one often ingests more.
    """

    kind: Literal["learn_lexicon"] = "learn_lexicon"
    lane: Lane = Lane.BULK
    background: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Learning is one step."""
        return ("learn",)


class LexiconResult(JobResult):
    """The lexicon that every worker uses from now on; ``total`` counts its words."""

    kind: Literal["learn_lexicon"] = "learn_lexicon"
    collection: str
    version: int
    documents: int
