"""The `messages` kind: a question in, chat messages that mean the same out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

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

VectorType = Literal["message", "context"]
#: How hits were found; "text" stands in when vectors cannot be compared.
Mode = Literal["vector", "text", "hybrid"]
Channel = Literal["vector", "words", "substring"]
Band = Literal["exact", "high", "medium", "low", "unrelated"]
PresetName = Literal[
    "exact", "related", "fuzzy", "persona", "abbreviation", "script", "faq", "recommend", "explore"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Preset:
    """What a preset stands for; a hit at least as similar as ``must_use`` must be used."""

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
    """Find the messages of chats that mean what is asked.

    ``session_id`` restricts the search to that session. ``similarity_threshold`` is applied to the calibrated
    similarity; None cuts by ``limit`` only. ``include_context`` searches messages and their contexts, else exactly
    ``vector_type``. A ``preset`` fills in the threshold and the limit where the request does not name them.

    ``hybrid`` joins the ranking by vectors and the ranking by words (BM25) by weighted reciprocal ranks:
    ``Σ weight / (rrf_k + rank)``, ranks from 1.
    """

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
            return given  # none, or not one of ours: then the field itself says so
        return {"similarity_threshold": named[0].similarity_threshold, "limit": named[0].limit} | given

    @property
    def vector_types(self) -> tuple[VectorType, ...]:
        """What kinds of rows are searched."""
        return ("message", "context") if self.include_context else (self.vector_type,)

    @property
    def steps(self) -> tuple[str, ...]:
        """A search is one step."""
        return ("search",)


class MessageHit(Contract):
    """A message, or a message amid its neighbours (``vector_type`` "context").

    ``similarity`` is calibrated and in a ``band``; ``raw_similarity`` is the cosine itself, None where vectors were
    not compared (then the similarity is 0.5). ``score`` is what the hits are ordered by; ``explanation`` holds
    every number needed to recompute it. ``must_use`` is set by presets that ask for it.
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
    """The answer to a `MessageSearch`, best hit first.

    ``total`` counts what passed the threshold before the cut to ``limit``; ``total_is_exact`` tells whether every
    row was examined. ``best_below_threshold`` is the best similarity there was when the threshold removed
    everything. ``skipped`` counts rows without a vector of the query's model; those of them that are pending and have
    words of the question are among the hits, at the similarity of text. ``searched`` is None when vectors were not
    compared; ``why`` says why not, when they should have been.
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
