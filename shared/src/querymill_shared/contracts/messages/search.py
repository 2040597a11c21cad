"""The `messages` kind: find the chat messages that mean the same as a question."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, FiniteFloat, model_validator

from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    FilePath,
    Growing,
    Id,
    PositiveFloat,
    QueryText,
    TopN,
)
from querymill_shared.contracts.filters import FilteredSearch
from querymill_shared.contracts.history import FoundInChat
from querymill_shared.contracts.rerank import Reranks
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.vectors_weight import WeighsVectors
from querymill_shared.contracts.why_not import Absence, AsksWhyNot
from querymill_shared.queues import Queue
from querymill_shared.values import value

VectorType = Literal["message", "context"]
#: How hits were found; "text" if vectors could not be compared.
Mode = Literal["vector", "text", "hybrid"]
Channel = Literal["vector", "words", "substring"]
#: "uncalibrated": nobody measured what the model's cosines mean.
Band = Literal["exact", "high", "medium", "low", "unrelated", "uncalibrated"]
PresetName = Literal[
    "exact", "related", "fuzzy", "persona", "abbreviation", "script", "faq", "recommend", "explore"
]  # fmt: skip


#: "best" joins the words of messages and of their neighbours with vectors; "vectors" is the rule of the vector search.
Ranking = Literal["best", "vectors"]


@value
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


#: What a ranking fills in where a request does not say otherwise.
FILLED_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "best": {"rrf_k": 10},
    "vectors": {"similarity_threshold": 0.7},
}

Similarity = Annotated[FiniteFloat, Field(ge=0, le=1)]


class MessageSearch(FilteredSearch, WeighsVectors, ExpandsInBranches, Reranks, AsksWhyNot, Asks["MessageResult"]):
    """Find the chat messages that mean the same as a question.

    ``limit`` is the largest number of hits returned. ``session_id`` restricts the search to one session.
    ``similarity_threshold`` applies to the calibrated similarity; None sets no threshold. ``include_context`` searches
    both messages and their contexts, which are one hit; without it, only ``vector_type`` is searched.
    ``exclude_message_id`` leaves out a message and the contexts that hold its text, in the session
    ``exclude_session_id`` if it is given, else in all that are searched. ``filter`` has conditions on user_name, role,
    session_id, time and metadata. A ``preset`` fills in the threshold and the limit if the request does not set them.

    ``ranking`` has two values. "best", the default, ranks by the words of each message and of its neighbours, joined
    with the vectors by their weight; it sets no threshold unless one is given, and one that is given cuts
    by similarity whichever ranking found the message. A query without a letter or digit finds nothing, and the
    frame of a question ("did anyone mention") is not searched. With
    ``answers_first`` the words of the message that is excluded count in the messages that answer it, which lifts direct
    answers to its author. "vectors" ranks by vectors alone, with the threshold 0.7; it is the default of a ``hybrid``
    search.

    ``hybrid`` joins the ranking by vectors and the ranking by the messages' own words (BM25). Both ways, rankings are
    joined by weighted reciprocal ranks: ``Σ weight / (rrf_k + rank)``, ranks from 1.

    ``why_not`` names a message whose absence the result should explain: by its ``vector_id``, by its session's id and
    its own (``s1/m7``), or in a search of one session by its own.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["messages"] = "messages"
    query: Annotated[QueryText, Field(description="the question")]
    session_id: Annotated[Id | None, Field(description="search only this session")] = None
    limit: Annotated[TopN, Field(description="number of messages returned")] = 5
    ranking: Annotated[
        Ranking,
        Field(description="best: keyword and vector ranking joined; vectors: vector ranking alone"),
    ] = "best"
    similarity_threshold: Annotated[Similarity | None, Field(description="minimum similarity; null = off")] = None
    exclude_message_id: Annotated[Id | None, Field(description="exclude this message")] = None
    exclude_session_id: Annotated[Id | None, Field(description="session of the excluded message")] = None
    answers_first: Annotated[bool, Field(description="rank direct answers to the excluded message higher")] = False
    vector_type: Annotated[VectorType, Field(description="search messages alone, or each with its neighbours")] = (
        "message"
    )
    include_context: Annotated[bool, Field(description="search both messages and contexts")] = False
    preset: Annotated[PresetName | None, Field(description="set threshold and limit for a purpose")] = None
    hybrid: Annotated[bool, Field(description="join vector ranking and keyword ranking; not with the ranking best")] = (
        False
    )
    words_weight: Annotated[PositiveFloat, Field(description="weight of keyword ranking in the fusion")] = 1.0
    rrf_k: Annotated[int, Field(ge=1, le=10_000, description="constant k of reciprocal rank fusion")] = 60
    why_not: Annotated[
        FilePath | None,
        Field(description="explain why this message was not returned, by session/message (s1/m7) or vector id"),
    ] = None
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        default = cls.model_fields["ranking"].default
        is_hybrid = given.get("hybrid") in (True, "true")
        ranking = given.get("ranking", "vectors" if is_hybrid else default)
        # An unknown ranking or preset fills in nothing: the field itself rejects it.
        filled = {"ranking": ranking, **(FILLED_IN.get(ranking, {}) if isinstance(ranking, str) else {})}
        for name, preset in PRESETS.items():
            if given.get("preset") == name:
                filled |= {"similarity_threshold": preset.similarity_threshold, "limit": preset.limit}
        return filled | given

    @model_validator(mode="after")
    def _asks_for_one_thing(self) -> "MessageSearch":
        if self.ranking == "best" and self.hybrid:
            raise ValueError("hybrid belongs to ranking 'vectors': ranking 'best' joins words and vectors by itself")
        if self.answers_first and (self.exclude_message_id is None or self.ranking != "best"):
            raise ValueError("answers_first needs exclude_message_id, the message that is answered, and ranking 'best'")
        return self

    @property
    def vector_types(self) -> tuple[VectorType, ...]:
        """Return the types of passages that are searched."""
        return ("message", "context") if self.include_context else (self.vector_type,)

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of a search, and those that write what is searched beside the question."""
        return self.steps_beside(("search",))


class MessageHit(Contract):
    """A message, alone or with its neighbours.

    Attributes:
        vector_id: id of the text that was found, unique in the collection and the same after every ingestion
        message_id: id of the message, as ingested; null if it has none
        session_id: id of the session that the message is of
        content: the whole text that was found
        vector_type: "message" for a message alone, "context" for one with its neighbours
        similarity: the cosine to the question, calibrated to the scale of thresholds; 0.5 if no vector was compared
        created_at: time of the message, in UTC
        session_name: name of the session; null if it was ingested without one
        user_name: user whose session it is; null if it was ingested without one
        message_role: role of the message's author, such as user or assistant; null if it was ingested without one
        raw_similarity: the cosine to the question, -1 to 1; null if no vector was compared
        band: range of the similarity: exact 1, high from 0.8, medium from 0.6, low from 0.4, else unrelated;
            uncalibrated if the model has no measured profile
        score: orders hits found the same way: Σ weight / (rrf_k + rank), the similarity, or the BM25 of a text search;
            of a hit that a judge has judged the relevance
        found_by: what found the text: its vector, words of the question, or the whole question as a substring
        must_use: whether the hit reaches the similarity from which its preset says that it must be used
        explanation: every number needed to recompute the score; `passage` has the place in a long text, in characters
        metadata: metadata of the session and the message; null unless the request asks for it or has a filter
        message_number: place of the message in its session, from 1; null if it is unknown
        source: file that the message was read from; null if ingestion did not note it
        line: line of the message in that file, from 1; null if ingestion did not note it
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
    band: Annotated[Band, Growing]
    score: float
    found_by: tuple[Annotated[Channel, Growing], ...]
    must_use: bool = False
    explanation: dict[str, Any]
    metadata: dict[str, Any] | None = None
    message_number: int | None = None
    source: str | None = None
    line: int | None = None


class MessageResult(FoundInChat):
    """The result of a `MessageSearch`.

    ``total`` counts the hits that passed the threshold, before the cut to ``limit``. Rows without a vector that have
    words of the question are among the hits, at similarity 0.5, and those with its rare words keep up to a fifth of the
    places. While rows wait for a vector, ``degraded`` says how many.

    Attributes:
        query: the question, as in the request
        collection: name of the collection that was searched
        session_id: the one session that was searched; null for all
        similarity_threshold: lowest calibrated similarity of a hit by its vector, 0 to 1; null if none was set
        results: the messages, best first
        mode: "vector" for vectors alone, "hybrid" for words joined with vectors, "text" if no vector was compared
        why: why the search did without vectors; null if it did not
        searched: how vectors were compared: "exact" if every one was, "approximate" by an index; null without vectors
        total_is_exact: whether every row was examined; if not, the total is a lower bound
        best_below_threshold: the highest similarity there is if the threshold removed every hit, else null
        skipped: number of rows without a vector of the question's model, counted up to 10,000 in each vector ranking
        uncalibrated: whether the model has no measured profile, so that similarities are its raw cosines and cannot be
            compared with those of another model
        why_not: why the message that the request names is not among the hits; null if it names none
    """

    kind: Literal["messages"] = "messages"
    query: str
    collection: str
    session_id: str | None
    similarity_threshold: float | None
    results: tuple[MessageHit, ...]
    mode: Annotated[Mode, Growing]
    why: str | None = None
    searched: Annotated[Literal["exact", "approximate"], Growing] | None = None
    total_is_exact: bool
    best_below_threshold: float | None = None
    skipped: int = 0
    uncalibrated: bool = False
    why_not: Absence | None = None


class ChatVectorsRequest(MessageSearch):
    """A `MessageSearch` as ``POST /api/chat/vectors`` reads it: by vectors, threshold 0.7, unless it says so."""

    ranking: Ranking = "vectors"

    def as_search(self) -> MessageSearch:
        """Return the request itself."""
        return MessageSearch.model_validate(dict(self))
