"""ConversationRank: how important a session is, whatever was asked. Five parts, each from 0 to 1."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

#: What each part weighs; together 1.
BASE_WEIGHT: Final = 0.2
DEPTH_WEIGHT: Final = 0.2
REFERENCE_WEIGHT: Final = 0.3
QUALITY_WEIGHT: Final = 0.2
RECENCY_WEIGHT: Final = 0.1
#: Where a part is full.
MESSAGES: Final = 50
KEYWORDS: Final = 20
REFERENCES: Final = 5
#: Time constant of the exponential, in days; decided: it is not the half-life, which is 62.4 days.
TIME_CONSTANT_DAYS: Final = 90.0
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RankParts:
    """The parts that are stored. Decided: recency is computed when a query is served, and never goes stale."""

    base: float
    depth: float
    reference: float
    quality: float

    @property
    def stored_rank(self) -> float:
        """What the four parts give together, without recency: at most 0.9."""
        return (
            BASE_WEIGHT * self.base
            + DEPTH_WEIGHT * self.depth
            + REFERENCE_WEIGHT * self.reference
            + QUALITY_WEIGHT * self.quality
        )


def base(messages: int) -> float:
    """How much was said: ``min(messages / 50, 1)``."""
    return min(messages / MESSAGES, 1.0)


def depth(keywords: int) -> float:
    """How technical it was: ``min(distinct technical keywords / 20, 1)``."""
    return min(keywords / KEYWORDS, 1.0)


def reference(references: float) -> float:
    """How often later sessions came back to it: ``min(references / 5, 1)``; an implicit one counts half."""
    return min(references / REFERENCES, 1.0)


def quality(*, solved: bool) -> float:
    """Whether its problem was solved: 1.0, else 0.5."""
    return 1.0 if solved else 0.5


def age_days(moment: datetime, now: datetime) -> float:
    """Count the days since a moment; one in the future counts as 0 days."""
    return max((now - moment) / _DAY, 0.0)


def recency(days: float, *, time_constant_days: float = TIME_CONSTANT_DAYS) -> float:
    """How fresh it is: ``exp(-days / 90)``."""
    return math.exp(-days / time_constant_days)


def rank(parts: RankParts, days: float, *, time_constant_days: float = TIME_CONSTANT_DAYS) -> float:
    """Weigh the five parts: ``0.2 base + 0.2 depth + 0.3 reference + 0.2 quality + 0.1 recency``."""
    return parts.stored_rank + RECENCY_WEIGHT * recency(days, time_constant_days=time_constant_days)


def parts_of(facts: SessionFacts, references: float) -> RankParts:
    """Work out what is stored of a session that so many references count for."""
    return RankParts(base(facts.messages), depth(facts.keywords), reference(references), quality(solved=facts.solved))
