"""Prepare a session for storing: its facts for ranking, its revision, and its index entry."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from querymill_shared.contracts.sessions import ChatMessage, ChatSession, message_key
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.history import History, session_of
from querymill_workers.retrievers.conversations.ports.passages import CutSession
from querymill_workers.retrievers.conversations.ports.sessions import PreparedConversation
from querymill_workers.retrievers.conversations.rules.embedded_passages import SpokenText, cut_passages
from querymill_workers.retrievers.conversations.rules.passages import packed
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts, facts_of, facts_version
from querymill_workers.retrievers.conversations.rules.session_signs import Turn
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.sketch import facts_from, signs_in, sketch_of
from querymill_workers.words.parts import part_id
from querymill_workers.words.ports import WordUnit

#: Part of every revision. After a change of this number, ingesting a stored session again indexes it again.
INDEXING_VERSION: Final = 2


def prepare_session(session: ChatSession, vocabulary: TechnicalKeywords) -> PreparedConversation:
    """Extract the facts of a session, and hash its content."""
    return PreparedConversation(session, facts_in(session, vocabulary), facts_version(vocabulary), revision_of(session))


def prepare_history(session_id: str, history: History, vocabulary: TechnicalKeywords) -> PreparedConversation | None:
    """Prepare what a history amounts to, or return None if nothing is left. With live messages, it gets a sketch."""
    session = session_of(session_id, history)
    if session is None:
        return None
    if not history.live:
        return prepare_session(session, vocabulary)
    known = 0 if history.whole is None else len(history.whole.messages)
    live = session.messages[known:]
    sketch = sketch_of(session.messages[:known], live, vocabulary)
    facts = facts_from(
        session_id, sketch, [int(signs_in(message)) for message in live],
        started_at=session.started_at, last_active=last_active_of(session),
    )  # fmt: skip
    return PreparedConversation(session, facts, facts_version(vocabulary), revision_of(session), history, sketch)


def revision_of(session: ChatSession) -> Revision:
    """Hash the content of a session."""
    shaped = f"{INDEXING_VERSION}\n{session.model_dump_json()}"
    return Revision(hashlib.sha256(shaped.encode()).hexdigest())


def last_active_of(session: ChatSession) -> datetime:
    """Return the time of the latest message. A message without a time has that of the session's start."""
    return max(message.created_at or session.started_at for message in session.messages)


def facts_in(session: ChatSession, vocabulary: TechnicalKeywords) -> SessionFacts:
    """Extract the facts of a session, which was last active at the time of its latest message."""
    return facts_of(
        session.session_id,
        [Turn(message.role, message.text) for message in session.messages],
        started_at=session.started_at,
        last_active=last_active_of(session),
        vocabulary=vocabulary,
    )


def cut_session(session: ChatSession) -> CutSession:
    """Cut a session into the passages that vectors are of."""
    passages = cut_passages(spoken(session.messages, started_at=session.started_at))
    return CutSession(session.session_id, passages)


def spoken(messages: Iterable[ChatMessage], *, started_at: datetime, first: int = 0) -> list[SpokenText]:
    """Return messages as passages are cut of them; ``first`` is the place of the first in its session."""
    return [
        SpokenText(place, message_key(message.message_id, place), message.text, message.created_at or started_at)
        for place, message in enumerate(messages, start=first)
    ]


def entries_of(session: ChatSession) -> list[WordUnit]:
    """Build the index entries of a session: one for each passage. The first has the words of the name as well.

    Once in one passage is a small weight, however often a long session repeats its subject.
    """
    passages = packed([message.text for message in session.messages])
    if session.name:
        passages[0].insert(0, session.name)
    return [
        WordUnit(part_id(session.session_id, number), searchable(texts), group=session.session_id)
        for number, texts in enumerate(passages)
    ]
