"""Add live messages to a session: one of a live chat costs about the same however long the session is.

New messages are added without reading the others: their words to the index entry, their signs and phrases to the
session's sketch, their texts to the last passage and to new ones. Everything else (an edit, a message that was accepted
before the session as it is) takes the long way: the history is read, and the session stored as it gives it.
"""

import hashlib

from querymill_shared.contracts.conversations.ingest import SessionUpdate
from querymill_shared.contracts.sessions import MAX_MESSAGES
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.history import (
    Acceptance,
    History,
    LiveMessage,
    add_live,
    hear,
)
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.passages import CutSession
from querymill_workers.retrievers.conversations.ports.sessions import SPACE, Extension, Outline
from querymill_workers.retrievers.conversations.prepare import spoken
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage, cut_passages
from querymill_workers.retrievers.conversations.rules.passages import fill_up
from querymill_workers.retrievers.conversations.rules.session_facts import facts_version
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.sketch import Sketch, extend_sketch, facts_from, signs_in
from querymill_workers.retrievers.conversations.storing import Change, store_history
from querymill_workers.words.parts import part_id
from querymill_workers.words.ports import Words, WordUnit


def add_messages(collection: str, update: SessionUpdate, version: Acceptance, ports: ConversationPorts) -> Change:
    """Add an update that nothing has replaced since, or begin a session with it.

    Raises:
        Refused: The session would have too many messages.
    """
    known = ports.conversations.outline(collection, update.session_id)
    if known is not None and known.facts_version == facts_version(ports.technical_keywords):
        extension = extend_outline(known, update, version, ports.technical_keywords)
        if extension is not None:
            refuse_too_many(update.session_id, extension.facts.messages)
            last = ports.conversation_passages.last(collection, update.session_id, known.revision)
            if last is not None and extend_entries(collection, update, known.sketch, ports.words):
                ports.conversations.extend(collection, extension, replacing=known.revision)
                ports.conversation_passages.grow(collection, grown(extension, known, last))
                return Change("ingested", extension.facts.messages)
    return _add_by_history(collection, update, version, ports)


def grown(extension: Extension, known: Outline, last: EmbeddedPassage) -> CutSession:
    """Return the passages that new messages change or add. Only these get vectors."""
    messages = [sent.message for sent in extension.messages]
    said = spoken(messages, started_at=known.facts.started_at, first=known.facts.messages)
    return CutSession(extension.facts.session_id, extension.revision, cut_passages(said, after=last))


def extend_entries(collection: str, update: SessionUpdate, sketch: Sketch, words: Words) -> bool:
    """Add messages to the last passage of a session, and to new ones. Return False if its entry is not there."""
    if sketch.fill is None:
        return False
    texts: dict[int, list[str]] = {sketch.fill[0]: []}
    fills = fill_up((len(message.text) for message in update.messages), sketch.fill)
    for message, (number, _) in zip(update.messages, fills, strict=True):
        texts.setdefault(number, []).append(message.text)
    last, *new = [
        WordUnit(part_id(update.session_id, number), searchable(said), group=update.session_id)
        for number, said in texts.items()
    ]
    if not words.extend(collection, SPACE, last):
        return False
    words.put(collection, SPACE, new)
    return True


def extend_outline(
    known: Outline, update: SessionUpdate, version: Acceptance, vocabulary: TechnicalKeywords
) -> Extension | None:
    """Return what new messages make of a session, or None if that takes its other messages.

    It does if a message replaces another or comes before it, if the update changes the name or when the session began,
    and if a release that knew no passages wrote the session.
    """
    ids = {message.message_id for message in update.messages}
    old = {id_ for _, id_, _ in known.live}
    late = any(version < at for at, _, _ in known.live)
    said = hear(known.said, update, version)
    known_whole = (
        known.sketch.fill is not None and update.started_at is None and said.get("name") == known.said.get("name")
    )
    if late or not known_whole or not ids.isdisjoint(known.sketch.ids | old):
        return None
    added = [LiveMessage(version, place, message) for place, message in enumerate(update.messages)]
    ordered = sorted([
        *known.live, *((version, sent.message.message_id, int(signs_in(sent.message))) for sent in added)
    ], key=lambda row: row[0])  # fmt: skip
    # As in the session itself: a message has its first place, and its latest signs.
    signs = {id_: sign for _, id_, sign in ordered if id_ not in known.sketch.ids}
    times = [message.created_at or known.facts.started_at for message in update.messages]
    sketch = extend_sketch(known.sketch, update.messages, vocabulary)
    facts = facts_from(
        update.session_id, sketch, list(signs.values()),
        started_at=known.facts.started_at, last_active=max(known.facts.last_active, *times),
    )  # fmt: skip
    return Extension(facts, added, said, sketch, _next(known.revision, version))


def refuse_too_many(session_id: str, messages: int) -> None:
    """Raise Refused for a session that would have too many messages."""
    if messages > MAX_MESSAGES:
        raise Refused(f"messages: session {session_id!r} would have more than {MAX_MESSAGES} messages")


def _add_by_history(collection: str, update: SessionUpdate, version: Acceptance, ports: ConversationPorts) -> Change:
    stored = ports.conversations.stored(collection, update.session_id)
    before = 0 if stored is None else len(stored.session.messages)
    known = History() if stored is None else stored.history
    history = add_live(known, update, version)
    names = {message.message_id for message in (stored.session.messages if stored else ())}
    new = sum(message.message_id not in names for message in update.messages)
    if new:
        refuse_too_many(update.session_id, before + new)
    return store_history(collection, update.session_id, stored, history, ports)


def _next(revision: Revision, version: Acceptance) -> Revision:
    """Name the content of a session that was not read."""
    return Revision(hashlib.sha256(f"{revision} {version}".encode()).hexdigest())
