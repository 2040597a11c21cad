"""The facts of a session: what ranking knows of it from its own messages alone.

Decided: nothing here depends on the other sessions of a collection. So a new session changes the facts of no other
session, and an incremental update can equal a full rebuild.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.key_phrases import KEY_PHRASES_VERSION, key_phrases, phrase_number
from querymill_workers.retrievers.conversations.rules.session_signs import Turn, is_solved, speaks_of_earlier
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords

#: Raised whenever the rules give the same session other facts.
_FACTS_VERSION: Final = 3


@value
class SessionFacts:
    """A session as ranking sees it; ``explicit`` is whether it explicitly mentions an earlier session."""

    session_id: str
    started_at: datetime
    last_active: datetime
    messages: int
    keywords: int
    solved: bool
    explicit: bool
    key_phrases: frozenset[int] = frozenset()


def facts_of(
    session_id: str,
    turns: Sequence[Turn],
    *,
    started_at: datetime,
    last_active: datetime,
    vocabulary: TechnicalKeywords,
) -> SessionFacts:
    """Extract the facts of a session. Each technical keyword counts once, however often it occurs."""
    text = "\n".join(turn.text for turn in turns)
    return SessionFacts(
        session_id,
        started_at,
        last_active,
        len(turns),
        len(vocabulary.of(text)),
        is_solved(turns),
        speaks_of_earlier(turns),
        frozenset(map(phrase_number, key_phrases(text))),
    )


def facts_version(vocabulary: TechnicalKeywords) -> str:
    """Return the version of the rules that find facts. The next rebuild extracts facts of other versions again."""
    terms = hashlib.sha256("\n".join(vocabulary.terms).encode()).hexdigest()[:16]
    return f"{_FACTS_VERSION}.{KEY_PHRASES_VERSION}.{terms}"
