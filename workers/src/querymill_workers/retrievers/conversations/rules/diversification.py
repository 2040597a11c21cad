"""Diversification: keep a list from coming all from one week or being all about one topic."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.rank import age_days

#: The step that placed a hit: relevance, age, topic, or the order of the rest; "score" without diversification.
PlacedBy = Literal["relevance", "age", "topic", "order", "score"]
Age = Literal["today", "week", "month", "older"]

#: How many hits are placed by relevance alone.
FIRST_BY_RELEVANCE: Final = 3
#: The list is flat where a score is at least this share of the one above it.
FLAT: Final = 0.9
#: The share of the best score that a hit needs to be placed for its age or its topic.
PICK_FLOOR: Final = 0.3
AGES: Final[Sequence[Age]] = ("today", "week", "month", "older")


@value
class Ranked:
    """A session to be placed. Without a topic it is never placed for its topic."""

    session_id: str
    score: float
    age: Age
    topic: str | None


@value
class Placed:
    """A session in the list; ``reason`` is the age or the topic that it was placed for."""

    session_id: str
    step: PlacedBy
    reason: str | None = None


def age_of(last_active: datetime, *, now: datetime, zone: tzinfo) -> Age:
    """Class an age: from today's date in ``zone``, up to 7 days old, up to 30 days old, or older."""
    if last_active.astimezone(zone).date() >= now.astimezone(zone).date():
        return "today"
    days = age_days(last_active, now)
    return "week" if days <= 7 else "month" if days <= 30 else "older"  # a week, a month


def flat_from(scores: Sequence[float]) -> int:
    """Return how many come before the place from which the list is flat, which is the fourth at the earliest.

    Worked example: 1.0, 0.9, 0.8, 0.5, 0.46 and 0.4 are flat from the fifth, because 0.46 is within 10 % of 0.5.
    """
    places = range(FIRST_BY_RELEVANCE, len(scores))
    return next((place for place in places if scores[place] >= FLAT * scores[place - 1]), len(scores))


def diversify(ranking: Sequence[Ranked], *, top_n: int) -> list[Placed]:
    """Place up to ``top_n`` sessions, each once.

    (1) The 3 most relevant, and those below until the list is flat: until a score is within 10 % of the one above it;
    (2) then the best remaining session of each age, today's first; (3) then the best of
    each topic that is not in the list yet; (4) then the rest in order. Steps (2) and (3) only place sessions with at
    least 0.3 of the best score. *Decided*: step (2) picks an age even if one of the first three has it; step (3) picks
    a topic only if no placed session has it.

    Args:
        ranking: The sessions, best first.
        top_n: Number of sessions to place, if there are as many.
    """
    head = ranking[: flat_from([session.score for session in ranking])]
    placed = {session.session_id: Placed(session.session_id, "relevance") for session in head}
    floor = PICK_FLOOR * max((session.score for session in ranking), default=0.0)
    worthy = [session for session in ranking if session.score >= floor]
    for age in AGES:
        left = (session for session in worthy if session.session_id not in placed and session.age == age)
        if (pick := next(left, None)) is not None:
            placed[pick.session_id] = Placed(pick.session_id, "age", age)
    present = {session.topic for session in ranking if session.session_id in placed}
    for session in worthy:
        if session.session_id not in placed and session.topic is not None and session.topic not in present:
            present.add(session.topic)
            placed[session.session_id] = Placed(session.session_id, "topic", session.topic)
    for session in ranking:
        placed.setdefault(session.session_id, Placed(session.session_id, "order"))
    return list(placed.values())[:top_n]
