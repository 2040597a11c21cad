"""Diversification: a list that is not all from one week or about one topic."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final, Literal

from querymill_workers.retrievers.conversations.rules.rank import age_days

#: What placed a hit: its relevance, its age, its topic, what was left in order; or its score, without diversification.
PlacedBy = Literal["relevance", "age", "topic", "order", "score"]
Age = Literal["today", "week", "month", "older"]

#: How many are placed by relevance alone.
FIRST_BY_RELEVANCE: Final = 3
#: What of the best score a hit must reach to be placed for its age or its topic.
PICK_FLOOR: Final = 0.3
AGES: Final[Sequence[Age]] = ("today", "week", "month", "older")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A session at its place by score; without a topic it is never placed for one."""

    session_id: str
    score: float
    age: Age
    topic: str | None


@dataclass(frozen=True, slots=True)
class Placed:
    """A session in the list; ``reason`` is the age or the topic it was placed for."""

    session_id: str
    step: PlacedBy
    reason: str | None = None


def age_of(last_active: datetime, *, now: datetime, zone: tzinfo) -> Age:
    """Say how old: of the calendar day it is for who asks, at most 7 days old, at most 30, or more."""
    if last_active.astimezone(zone).date() >= now.astimezone(zone).date():
        return "today"
    days = age_days(last_active, now)
    return "week" if days <= 7 else "month" if days <= 30 else "older"  # a week, a month


def diversify(ranking: Sequence[Ranked], *, top_n: int) -> list[Placed]:
    """Place up to ``top_n`` sessions, each once.

    (1) The 3 most relevant; (2) then the best that is left of each age, today's first; (3) then the best of each
    topic that is not there yet; (4) then the others in order. Who is placed by (2) or (3) has at least 0.3 of the
    best score. *Decided*: ages are picked whether or not the first three have them; topics only if they have not.

    Args:
        ranking: Best first.
        top_n: How many to place, while there are candidates.
    """
    placed = {session.session_id: Placed(session.session_id, "relevance") for session in ranking[:FIRST_BY_RELEVANCE]}
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
