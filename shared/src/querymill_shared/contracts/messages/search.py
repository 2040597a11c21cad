"""The `messages` kind: find the chat messages that mean the same as a question."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, FiniteFloat, model_validator

from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Id,
    PositiveFloat,
    QueryText,
    Request,
    TopN,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

VectorType = Literal["message", "context"]
#: How hits were found; "text" if vectors could not be compared.
Mode = Literal["vector", "text", "hybrid"]
Channel = Literal["vector", "words", "substring"]
Band = Literal["exact", "high", "medium", "low", "unrelated"]
PresetName = Literal[
    "exact", "related", "fuzzy", "persona", "abbreviation", "script", "faq", "recommend", "explore"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Preset:
    """The values that a preset fills in. A hit with at least the similarity ``must_use`` must be used."""

    similarity_threshold: float
    limit: int = 5
    must_use: float | None = None


PRESETS: Final[Mapping[PresetName, Preset]] = {
    # Chat history.
    "exact": Preset(0.8),
    "related": Preset(0.6),
    "fuzzy": Preset(0.4),
    # Knowledge base.
    "persona": Preset(0.2),
    "abbreviation": Preset(0.3),
    "script": Preset(0.4, must_use=0.7),
    # Scenarios.
    "faq": Preset(0.8, limit=5),
    "recommend": Preset(0.6, limit=10),
    "explore": Preset(0.4, limit=20),
}


Similarity = Annotated[FiniteFloat, Field(ge=0, le=1)]


class MessageSearch(Request, Asks["MessageResult"]):
    """Find the chat messages that mean the same as a question.

    ``limit`` is the largest number of hits returned. ``session_id`` restricts the search to one session.
    ``similarity_threshold`` applies to the calibrated similarity; None sets no threshold. ``include_context`` searches
    both messages and their contexts; without it, only ``vector_type`` is searched. ``exclude_message_id`` leaves out a
    message and the contexts that hold its text. A ``preset`` fills in the threshold and the limit if the request does
    not set them.

    ``hybrid`` joins the ranking by vectors and the ranking by words (BM25) by weighted reciprocal ranks:
    ``Σ weight / (rrf_k + rank)``, ranks from 1.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["messages"] = "messages"
    query: QueryText
    session_id: Id | None = None
    limit: TopN = 5
    similarity_threshold: Similarity | None = 0.7
    exclude_message_id: Id | None = None
    vector_type: VectorType = "message"
    include_context: bool = False
    preset: PresetName | None = None
    hybrid: bool = False
    vector_weight: PositiveFloat = 1.0
    words_weight: PositiveFloat = 1.0
    rrf_k: Annotated[int, Field(ge=1, le=10_000)] = 60
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="before")
    @classmethod
    def _preset_fills_in(cls, given: Any) -> Any:
        named = [preset for name, preset in PRESETS.items() if isinstance(given, dict) and given.get("preset") == name]
        if not named:
            return given  # no preset, or an unknown one, which the field itself rejects
        return {"similarity_threshold": named[0].similarity_threshold, "limit": named[0].limit} | given

    @property
    def vector_types(self) -> tuple[VectorType, ...]:
        """Return the types of passages that are searched."""
        return ("message", "context") if self.include_context else (self.vector_type,)

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of a search."""
        return ("search",)


class MessageHit(Contract):
    """A message, or a message with its neighbours (``vector_type`` "context").

    ``similarity`` is calibrated, and ``band`` names its range. ``raw_similarity`` is the cosine itself, or None if the
    hit's vector was not compared; its similarity is then 0.5. ``score`` orders the hits that were found the same
    way, and ``explanation`` holds every number needed to recompute it. ``must_use`` is set by presets that ask for it.
    """

    vector_id: str
    message_id: str | None
    session_id: str
    content: str
    vector_type: VectorType
    similarity: float
    created_at: datetime
    session_name: str | None
    user_name: str | None
    message_role: str | None
    raw_similarity: float | None
    band: Band
    score: float
    found_by: tuple[Channel, ...]
    must_use: bool = False
    explanation: dict[str, Any]


class MessageResult(JobResult):
    """The result of a `MessageSearch`, best hit first.

    ``total`` counts the hits that passed the threshold, before the cut to ``limit``. ``total_is_exact`` tells whether
    every row was examined. ``best_below_threshold`` is the best similarity if the threshold removed every hit.
    ``skipped`` counts rows without a vector of the question's model. Of these, pending rows that have words of the
    question are among the hits, at similarity 0.5. ``searched`` tells how vectors were compared, or is None if they
    were not; ``why`` then gives the reason.
    """

    kind: Literal["messages"] = "messages"
    query: str
    collection: str
    session_id: str | None
    similarity_threshold: float | None
    results: tuple[MessageHit, ...]
    mode: Mode
    why: str | None = None
    searched: Literal["exact", "approximate"] | None = None
    total_is_exact: bool
    best_below_threshold: float | None = None
    skipped: int = 0
