"""Prepare a session for storing: its facts for ranking, its revision, and its index entry."""

import hashlib
from typing import Final

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.ports.sessions import PreparedConversation
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts, facts_of, facts_version
from querymill_workers.retrievers.conversations.rules.session_signs import Turn
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.words.ports import WordUnit

#: Part of every revision. After a change of this number, ingesting a stored session again indexes it again.
INDEXING_VERSION: Final = 1


def prepare_session(session: ChatSession, vocabulary: TechnicalKeywords) -> PreparedConversation:
    """Extract the facts of a session, and hash its content."""
    shaped = f"{INDEXING_VERSION}\n{session.model_dump_json()}"
    revision = Revision(hashlib.sha256(shaped.encode()).hexdigest())
    return PreparedConversation(session, facts_in(session, vocabulary), facts_version(vocabulary), revision)


def facts_in(session: ChatSession, vocabulary: TechnicalKeywords) -> SessionFacts:
    """Extract the facts of a session, which was last active at the time of its latest message."""
    return facts_of(
        session.session_id,
        [Turn(message.role, message.text) for message in session.messages],
        started_at=session.started_at,
        last_active=max(message.created_at or session.started_at for message in session.messages),
        vocabulary=vocabulary,
    )


def entry_of(session: ChatSession) -> WordUnit:
    """Build the index entry of a session, which holds the words of all its messages."""
    text = searchable(message.text for message in session.messages)
    return WordUnit(session.session_id, text, group=session.session_id)
