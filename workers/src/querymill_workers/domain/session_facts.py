"""What ranking knows of a session by itself: everything here follows from its own messages alone.

Decided: nothing depends on the other sessions of a collection, so that one more session changes no other's
facts, and an incremental update can equal a full rebuild.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """A session as ranking sees it; ``explicit`` tells whether it speaks of an earlier one in so many words."""

    session_id: str
    started_at: datetime
    last_active: datetime
    messages: int
    keywords: int
    solved: bool
    explicit: bool
    key_phrases: frozenset[int] = frozenset()
