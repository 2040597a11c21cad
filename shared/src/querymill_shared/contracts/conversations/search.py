"""Search `conversations`: find sessions by text, weighted by their importance and age."""

from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, FiniteFloat

from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    Growing,
    Id,
    Moment,
    Name,
    QueryText,
    TopN,
    Written,
)
from querymill_shared.contracts.filters import FilteredSearch
from querymill_shared.contracts.history import FoundInChat
from querymill_shared.contracts.rerank import Reranks
from querymill_shared.contracts.results import Asks
from querymill_shared.contracts.vectors_weight import WeighsVectors
from querymill_shared.contracts.why_not import Absence, AsksWhyNot
from querymill_shared.queues import Queue

Scoring = Literal["product", "bounded", "bm25"]
Intent = Literal["debug", "how_to", "explain", "code_lookup", "decision", "recap"]
SearchMode = Literal["normal", "deep"]
#: The step of diversification that placed a hit; "score" without diversification.
PlacedBy = Literal["relevance", "age", "topic", "order", "score"]
#: The gates of a search, in order; a session that is missing failed one of them.

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


Locale = Annotated[
    str,
    Written(
        r"^[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,5}$", "must be the tag of a language, such as en, en-GB or zh-CN"
    ),
]


TimeZone = Annotated[
    Name, Field(description="time zone for dates in the query, such as Asia/Shanghai"), AfterValidator(_known_zone)
]
DateLocale = Annotated[
    Locale | None,
    Field(description="locale for dates in figures in the query, such as en-GB (default: by the time zone)"),
]


class ConversationSearch(
    FilteredSearch, WeighsVectors, ExpandsInBranches, Reranks, AsksWhyNot, Asks["ConversationResult"]
):
    """Find the sessions in which a subject was discussed.

    The score is a product: BM25 as a share of the best candidate's, times ConversationRank, times
    ``exp(-days / 90)``, times 2.0 for the ``current_session`` and 1.5 for the ``recent_sessions``
    (``scoring="product"``); ``"bounded"`` keeps each factor near 1: ``bm25 × (1 + a (rank − ½)) × (1 + b (decay − ½))
    × min(context, cap)`` with ``rank_swing``, ``decay_swing`` and ``context_cap``; ``"bm25"`` is relevance alone.

    ``vectors`` joins this order with that of the sessions whose passages are nearest to the question, by weighted
    reciprocal rank fusion: words weigh 1, and vectors what they are worth on the collection; where that is unknown 0.25
    to 0.9, the more the shorter the passages of sessions are. None joins them where ``scoring`` is "bounded" and the
    list is not diversified. Without a vector in time, the words answer alone, and ``degraded`` says why.

    ``top_n`` is the number of hits; None is 10, or 20 in a deep search. ``expansion`` None adds synonyms in a deep
    search, where the words find fewer than ``top_n``, and where the question is in a script that the sessions are not
    in; True adds them always, False never. A question whose frame asks for an order of time ("the most recent session
    about", "when did we first discuss") gets the sessions about its subject in that order, above all others; without
    ``simplification``, or diversified, it does not. ``now`` None is the time at which the job runs. ``why_not`` names a
    session whose absence the result should explain. ``filter`` has conditions on user_name, role, session_id, time and
    metadata of sessions. A session passes one on role or time if one of its messages does.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["conversations"] = "conversations"
    query: Annotated[QueryText, Field(description="the question")]
    current_session: Annotated[Id | None, Field(description="current session (×2)")] = None
    recent_sessions: Annotated[
        tuple[Id, ...], Field(max_length=_MAX_RECENT, description="recently used session (×1.5)"), Distinct
    ] = ()
    top_n: Annotated[
        TopN | None, Field(description="number of sessions returned (default: 10, or 20 in a deep search)")
    ] = None
    scoring: Annotated[
        Scoring,
        Field(
            description="product: relevance × rank × recency; bounded: each factor stays near 1; bm25: relevance alone"
        ),
    ] = "bounded"
    rank_swing: Annotated[Swing, Field(description="weight of ConversationRank in bounded scoring")] = 0.2
    decay_swing: Annotated[Swing, Field(description="weight of age in bounded scoring")] = 0.1
    context_cap: Annotated[
        FiniteFloat, Field(ge=1, le=2, description="maximum boost for your own sessions in bounded scoring")
    ] = 1.2
    diversify: Annotated[bool, Field(description="mix ages and topics")] = False
    vectors: Annotated[
        bool | None, Field(description="also rank by meaning (default: in bounded scoring that is not diversified)")
    ] = None
    time_filter: Annotated[bool, Field(description="filter by dates found in the query")] = True
    expansion: Annotated[
        bool | None, Field(description="also search synonyms (default: where the words find too little)")
    ] = None
    spelling: Annotated[bool, Field(description="correct words that the collection does not contain")] = True
    simplification: Annotated[bool, Field(description="drop filler words")] = True
    now: Annotated[
        Moment | None, Field(description="reference time for relative dates (default: when the job runs)")
    ] = None
    time_zone: TimeZone = "UTC"
    locale: DateLocale = None
    why_not: Annotated[Id | None, Field(description="explain why this session was not returned, by its id")] = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step of a search, and those that write what is searched beside the question."""
        return self.steps_beside(("search",))

    @property
    def zone(self) -> tzinfo:
        """The time zone of the caller."""
        return zone_named(self.time_zone)

    @property
    def joins_vectors(self) -> bool:
        """Whether vectors are to be joined with the words."""
        return self.scoring == "bounded" and not self.diversify if self.vectors is None else self.vectors


class SpellingCorrection(Contract):
    """A word of the query whose spelling was corrected.

    Attributes:
        written: the word as it is in the query
        read_as: the word of the collection that was searched instead
    """

    written: str
    read_as: str


class SynonymsOf(Contract):
    """A term of the query with its synonyms.

    Attributes:
        term: the term as it was searched
        synonyms: words that were searched as well, at a third of the weight
    """

    term: str
    synonyms: tuple[str, ...]


class UnderstoodTime(Contract):
    """The time that a query names. Sessions with a message within it come first, or are the only ones.

    Attributes:
        start: first moment of the time, in UTC; null if it has no beginning
        end: moment at which the time ends (exclusive), in UTC; null if it has no end
        phrase: the words of the query that name the time
    """

    start: datetime | None
    end: datetime | None
    phrase: str


class Understanding(Contract):
    """How a query was understood, and everything that was changed in it.

    Attributes:
        searched: the text whose words were searched: the query without time and filler, spelling corrected
        intent: what the query asks for, by its cue words; "recap" if it has none
        importance: 0 to 1, in tenths: for its length, technical keywords, how or why, and code
        mode: "deep" if the importance is above 0.6: more candidates, more hits and synonyms; else "normal"
        keywords: keywords of the text that was searched: technical terms first, then other words with a meaning
        time: the time that the query names; null if it names none or time_filter is off
        corrections: words whose spelling was corrected
        synonyms: terms whose synonyms were searched as well
        dropped: filler words of the query, which were not searched
    """

    searched: str
    intent: Annotated[Intent, Growing]
    importance: float
    mode: Annotated[SearchMode, Growing]
    keywords: tuple[str, ...]
    time: UnderstoodTime | None = None
    corrections: tuple[SpellingCorrection, ...] = ()
    synonyms: tuple[SynonymsOf, ...] = ()
    dropped: tuple[str, ...] = ()


class ConversationHit(Contract):
    """A session with its best passage.

    Attributes:
        session_id: id of the session, as ingested
        name: name of the session; null if it was ingested without one
        user_name: user whose session it is; null if it was ingested without one
        started_at: time at which the session began, in UTC
        last_active: time of the session's latest message, in UTC
        score: the formula of `scoring`; where vectors were joined, Σ weight / (10 + rank) over words and vectors
        explanation: every number of the score: `factors` multiply to the score by words, `joined` has both ranks
        snippet: about 240 characters of the best message, or of the nearest passage if only vectors found the session;
            the session's name if only that matched
        marks: places of the matched words in the snippet, as (start, end) in characters; empty if only vectors found it
        message_id: id of the message that the snippet is from; null if it has none or the name is shown
        placed_by: what placed the hit: its score, a step of diversification, or the order of time that was asked for
        placed_for: age or topic that the hit was placed for, or "newest" or "oldest" of the order of time; else null
        message_number: place of the snippet's message in its session, from 1; null if the name is shown
        message_at: time of the snippet's message, in UTC; null if the name is shown
        metadata: metadata of the session; null unless the request asks for it or has a filter
        source: file that the snippet's message was read from; null if ingestion did not note it
        line: line of the message in that file, from 1; null if ingestion did not note it
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
    placed_by: Annotated[PlacedBy, Growing]
    placed_for: str | None = None
    message_number: int | None = None
    message_at: datetime | None = None
    metadata: dict[str, Any] | None = None
    source: str | None = None
    line: int | None = None


class ConversationResult(FoundInChat):
    """The result of a `ConversationSearch`. ``total`` counts the sessions that were ranked.

    Attributes:
        query: the question, as in the request
        collection: name of the collection that was searched
        results: the sessions, best first
        scoring: formula of the score by words, as in the request
        understanding: how the query was read, and what was changed in it
        why_not: why the session that the request names is not among the hits; null if it names none
    """

    kind: Literal["conversations"] = "conversations"
    query: str
    collection: str
    results: tuple[ConversationHit, ...]
    scoring: Annotated[Scoring, Growing]
    understanding: Understanding
    why_not: Absence | None = None
