"""Search `conversations`: find sessions by text, weighted by their importance and age."""

from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, FiniteFloat

from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    Id,
    Moment,
    Name,
    QueryText,
    Request,
    TopN,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

Scoring = Literal["product", "bounded", "bm25"]
Intent = Literal["debug", "how_to", "explain", "code_lookup", "decision", "recap"]
SearchMode = Literal["normal", "deep"]
#: The step of diversification that placed a hit; "score" without diversification.
PlacedBy = Literal["relevance", "age", "topic", "order", "score"]
#: The gates of a search, in order; a session that is missing failed one of them.
Gate = Literal["collection", "time", "words", "candidates", "score", "diversification"]

#: Default number of hits of a normal and of a deep search.
TOP_N, DEEP_TOP_N = 10, 20
_MAX_RECENT = 100


def zone_named(name: str) -> tzinfo:
    """Return the time zone of a name.

    Raises:
        ValueError: There is no time zone of this name.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is not a known time zone, such as Asia/Shanghai") from error


def _known_zone(name: str) -> str:
    zone_named(name)
    return name


#: Above 2, a factor could be negative.
Swing = Annotated[FiniteFloat, Field(ge=0, le=2)]


class ConversationSearch(Request, Asks["ConversationResult"]):
    """Find the sessions in which a subject was discussed.

    The score is a product: BM25 as a share of the best candidate's, times ConversationRank, times
    ``exp(-days / 90)``, times 2.0 for the ``current_session`` and 1.5 for the ``recent_sessions``
    (``scoring="product"``); ``"bounded"`` keeps each factor near 1: ``bm25 × (1 + a (rank − ½)) × (1 + b (decay − ½))
    × min(context, cap)`` with ``rank_swing``, ``decay_swing`` and ``context_cap``; ``"bm25"`` is relevance alone.

    ``top_n`` is the number of hits; None is 10, or 20 in a deep search. ``expansion`` None adds synonyms in a deep
    search only. ``now`` None is the time at which the job runs. ``why_not`` names a session whose absence the result
    should explain.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["conversations"] = "conversations"
    query: QueryText
    current_session: Id | None = None
    recent_sessions: Annotated[tuple[Id, ...], Field(max_length=_MAX_RECENT), Distinct] = ()
    top_n: TopN | None = None
    scoring: Scoring = "bounded"
    rank_swing: Swing = 0.2
    decay_swing: Swing = 0.1
    context_cap: Annotated[FiniteFloat, Field(ge=1, le=2)] = 1.2
    diversify: bool = True
    time_filter: bool = True
    expansion: bool | None = None
    spelling: bool = True
    simplification: bool = True
    now: Moment | None = None
    time_zone: Annotated[Name, AfterValidator(_known_zone)] = "UTC"
    why_not: Id | None = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """A search is one step."""
        return ("search",)


class SpellingCorrection(Contract):
    """A word as it was written, and the word of the collection that was searched instead."""

    written: str
    read_as: str


class SynonymsOf(Contract):
    """A term of the query, and the synonyms that were searched as well, at a lower weight."""

    term: str
    synonyms: tuple[str, ...]


class UnderstoodTime(Contract):
    """Only sessions with a message from ``start`` (inclusive) to ``end`` (exclusive) were searched; None is open."""

    start: datetime | None
    end: datetime | None
    phrase: str


class Understanding(Contract):
    """How a query was understood, and everything that was changed in it.

    ``searched`` is the text whose words were searched. ``dropped`` are the filler words. An ``importance`` above 0.6
    makes the ``mode`` deep: more candidates, more hits, and synonyms.
    """

    searched: str
    intent: Intent
    importance: float
    mode: SearchMode
    keywords: tuple[str, ...]
    time: UnderstoodTime | None = None
    corrections: tuple[SpellingCorrection, ...] = ()
    synonyms: tuple[SynonymsOf, ...] = ()
    dropped: tuple[str, ...] = ()


class ConversationHit(Contract):
    """A session with its best passage.

    ``marks`` are the (start, end) places of the matched words in ``snippet``, which is cut from the message
    ``message_id`` (None if the message has no id, or if only the session's name matched). The ``factors`` in the
    ``explanation`` multiply to ``score``, and the explanation holds every number needed to recompute them.
    ``placed_by`` is the step of diversification that placed the hit, and ``placed_for`` the age or topic.
    """

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    score: float
    explanation: dict[str, Any]
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()
    message_id: str | None = None
    placed_by: PlacedBy
    placed_for: str | None = None


class WhyNot(Contract):
    """Why a session is missing: the gate that it did not pass (None if it is a hit), and the reason."""

    session_id: str
    gate: Gate | None
    reason: str


class ConversationResult(JobResult):
    """The result of a `ConversationSearch`, in order; ``total`` counts the candidates."""

    kind: Literal["conversations"] = "conversations"
    query: str
    collection: str
    results: tuple[ConversationHit, ...]
    scoring: Scoring
    understanding: Understanding
    why_not: WhyNot | None = None
