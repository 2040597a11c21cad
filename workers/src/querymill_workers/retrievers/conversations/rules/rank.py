"""ConversationRank: the importance of a session, independent of the question. It has five parts, each from 0 to 1."""

import math
from datetime import datetime, timedelta
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

#: The weights of the parts; their sum is 1.
BASE_WEIGHT: Final = 0.2
DEPTH_WEIGHT: Final = 0.2
REFERENCE_WEIGHT: Final = 0.3
QUALITY_WEIGHT: Final = 0.2
RECENCY_WEIGHT: Final = 0.1
#: The counts at which a part reaches 1.
MESSAGES: Final = 50
KEYWORDS: Final = 20
REFERENCES: Final = 5
#: Time constant of the exponential, in days. Decided: it is not the half-life, which is 62.4 days.
TIME_CONSTANT_DAYS: Final = 90.0
_DAY: Final = timedelta(days=1)


@value
class RankParts:
    """The stored parts. Decided: recency is computed at the time of a query, so it never goes stale."""

    base: float
    depth: float
    reference: float
    quality: float

    @property
    def stored_rank(self) -> float:
        """The weighted sum of the four stored parts, at most 0.9."""
        return (
            BASE_WEIGHT * self.base
            + DEPTH_WEIGHT * self.depth
            + REFERENCE_WEIGHT * self.reference
            + QUALITY_WEIGHT * self.quality
        )


def base(messages: int) -> float:
    """Return the part for the length of a session: ``min(messages / 50, 1)``."""
    return min(messages / MESSAGES, 1.0)


def depth(keywords: int) -> float:
    """Return the part for its technical depth: ``min(distinct technical keywords / 20, 1)``."""
    return min(keywords / KEYWORDS, 1.0)


def reference(references: float) -> float:
    """Return the part for references from later sessions: ``min(references / 5, 1)``; an implicit one counts half."""
    return min(references / REFERENCES, 1.0)


def quality(*, solved: bool) -> float:
    """Return the part for its outcome: 1.0 if its problem was solved, else 0.5."""
    return 1.0 if solved else 0.5


def age_days(moment: datetime, now: datetime) -> float:
    """Return the days since a moment, or 0 if it is in the future."""
    return max((now - moment) / _DAY, 0.0)


def recency(days: float, *, time_constant_days: float = TIME_CONSTANT_DAYS) -> float:
    """Return the part for its age: ``exp(-days / 90)``."""
    return math.exp(-days / time_constant_days)


def rank(parts: RankParts, days: float, *, time_constant_days: float = TIME_CONSTANT_DAYS) -> float:
    """Return the rank: ``0.2 base + 0.2 depth + 0.3 reference + 0.2 quality + 0.1 recency``."""
    return parts.stored_rank + RECENCY_WEIGHT * recency(days, time_constant_days=time_constant_days)


def parts_of(facts: SessionFacts, references: float) -> RankParts:
    """Compute the stored parts of a session with this weighted count of references to it."""
    return RankParts(base(facts.messages), depth(facts.keywords), reference(references), quality(solved=facts.solved))
