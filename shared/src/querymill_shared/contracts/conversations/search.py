"""The `conversations` kind: searching sessions by their words, weighed by how important and how fresh they are."""

from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any, Literal
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

Scoring = Literal["product", "bounded", "bm25"]
Intent = Literal["debug", "how_to", "explain", "code_lookup", "decision", "recap"]
SearchMode = Literal["normal", "deep"]
#: Which step of diversification placed a hit; "score" when there was none.
PlacedBy = Literal["relevance", "age", "topic", "order", "score"]
#: Where a session that was asked for was lost; None when it is among the hits.
Gate = Literal["collection", "time", "words", "candidates", "score", "diversification"]

#: Hits of a normal and of a deep search.
TOP_N, DEEP_TOP_N = 10, 20
_MOST_RECENT = 100


def zone_named(name: str) -> tzinfo:
    """Look a time zone up by its name.

    Raises:
        ValueError: There is none of that name.
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


#: More than 2 would let a factor turn negative.
Swing = Annotated[FiniteFloat, Field(ge=0, le=2)]


class ConversationSearch(Request, Asks["ConversationResult"]):
    """Find the sessions in which something was talked about.

    The score is a product: BM25 as a share of the best candidate's, times ConversationRank, times
    ``exp(-days / 90)``, times 2.0 for the ``current_session`` and 1.5 for the ``recent_sessions``
    (``scoring="product"``); ``"bounded"`` keeps each factor near 1: ``bm25 × (1 + a (rank − ½)) × (1 + b (decay − ½))
    × min(context, cap)`` with ``rank_swing``, ``decay_swing`` and ``context_cap``; ``"bm25"`` is relevance alone.

    ``top_n`` None is 10, or 20 in a deep search. ``expansion`` None is on in a deep search. ``now`` None is the time
    of the search. ``why_not`` asks which gate a session did not pass.
    """

    kind: Literal["conversations"] = "conversations"
    query: QueryText
    current_session: Id | None = None
    recent_sessions: Annotated[tuple[Id, ...], Field(max_length=_MOST_RECENT), Distinct] = ()
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
    """A term of the query, and what was searched beside it, at a lower weight."""

    term: str
    synonyms: tuple[str, ...]


class UnderstoodTime(Contract):
    """Only sessions with a message from ``start`` on, up to ``end`` without it, were searched; None is open."""

    start: datetime | None
    end: datetime | None
    phrase: str


class Understanding(Contract):
    """What a query was taken to mean, and everything that was changed in it.

    ``searched`` is the text whose words were searched; ``dropped`` are filler words. ``importance`` above 0.6 makes
    the ``mode`` deep: more candidates, more hits, and synonyms.
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

    ``marks`` are the places (from, to) of the matched words in ``snippet``, which is cut from the message
    ``message_id`` (None where that has none, or where only the session's name matched). The ``factors`` of the
    ``explanation`` multiply to ``score``; it holds every number needed to recompute them. ``placed_by`` is the step
    of diversification that gave the hit its place, ``placed_for`` the age or the topic.
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
    """Where a session was lost: the gate (None: it is a hit), and what it lacked."""

    session_id: str
    gate: Gate | None
    reason: str


class ConversationResult(JobResult):
    """The answer to a `ConversationSearch`, in the order of the list; ``total`` counts the candidates."""

    kind: Literal["conversations"] = "conversations"
    query: str
    collection: str
    results: tuple[ConversationHit, ...]
    scoring: Scoring
    understanding: Understanding
    why_not: WhyNot | None = None
