"""Add live messages to a session: one of a live chat costs about the same however long the session is.

New messages are added without reading the others: their words to the index entry, their signs and phrases to the
session's sketch, their texts to the last passage and to new ones. Everything else (an edit, a message that was accepted
before the session as it is) takes the long way: the history is read, and the session stored as it gives it.
"""

import hashlib
from collections.abc import Sequence, Set
from dataclasses import replace

from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import MAX_MESSAGES, ChatMessage
from querymill_shared.values import value
from querymill_workers.documents.ports import Entry
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.entry import part_of
from querymill_workers.retrievers.conversations.history import (
    Acceptance,
    History,
    LiveMessage,
    add_live,
    hear,
)
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.passages import CutSession
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE, Extension, Outline
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage, cut_passages
from querymill_workers.retrievers.conversations.rules.passages import Fill, fill_up
from querymill_workers.retrievers.conversations.rules.session_facts import facts_version
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.sketch import extend_sketch, facts_from, signs_in
from querymill_workers.retrievers.conversations.write.derived import spoken
from querymill_workers.retrievers.conversations.write.store_sessions import Change, StoredHistory, store_histories
from querymill_workers.words.parts import part_id
from querymill_workers.words.ports import Words, WordUnit


@value
class LiveGrowth:
    """A session that grows without being read: its last passage before, and what it is afterwards.

    ``fill`` is the number of its last entry of words, and how many characters that has.
    """

    known: Outline
    fill: Fill
    last: EmbeddedPassage
    extension: Extension

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.extension.facts.session_id

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The new messages."""
        return [sent.message for sent in self.extension.messages]


def add_messages(
    collection: str, updates: Sequence[SessionExtension], version: Acceptance, ports: ConversationPorts
) -> dict[str, Change]:
    """Add updates of different sessions that nothing has replaced since, or begin sessions with them.

    Raises:
        Mistaken: A session would have too many messages.
    """
    growing = find_growing(collection, updates, version, ports)
    held = extend_entries(collection, growing, ports.words)
    short = [growth for growth in growing if growth.session_id in held]
    if short:
        ports.conversations.extend(collection, [growth.extension for growth in short])
        ports.documents[KIND].extend(collection, [(entry_of_growth(each), each.extension.revision) for each in short])
        ports.conversation_passages.grow(collection, [cut_growth(growth) for growth in short])
    changes = {growth.session_id: Change("ingested", growth.extension.facts.messages) for growth in short}
    others = [update for update in updates if update.session_id not in changes]
    return changes | _add_by_history(collection, others, version, ports)


def find_growing(
    collection: str, updates: Sequence[SessionExtension], version: Acceptance, ports: ConversationPorts
) -> list[LiveGrowth]:
    """Return the sessions that need not be read to grow.

    Raises:
        Mistaken: A session would have too many messages.
    """
    vocabulary = ports.technical_keywords
    current = facts_version(vocabulary)
    outlines = ports.conversations.outlines(collection, [update.session_id for update in updates])
    known = {id_: outline for id_, outline in outlines.items() if outline.facts_version == current}
    lasts = ports.conversation_passages.lasts(collection, list(known))
    growing = []
    for update in updates:
        outline, last = known.get(update.session_id), lasts.get(update.session_id)
        extension = None if outline is None else extend_outline(outline, update, version, vocabulary)
        if outline is not None and extension is not None:
            refuse_too_many(update.session_id, extension.facts.messages)
            if last is not None:
                growing.append(LiveGrowth(outline, outline.sketch.fill, last, extension))
    return growing


def cut_growth(growth: LiveGrowth) -> CutSession:
    """Return the passages that new messages change or add. Only these get vectors."""
    facts = growth.known.facts
    said = spoken(growth.messages, started_at=facts.started_at, first=facts.messages)
    return CutSession(growth.session_id, cut_passages(said, after=growth.last))


def entry_of_growth(growth: LiveGrowth) -> Entry:
    """Return what new messages add to what is known of their session."""
    facts, user_name = growth.extension.facts, growth.extension.said.get("user_name")
    update = SessionExtension(
        session_id=growth.session_id, messages=tuple(growth.messages), started_at=facts.started_at,
        user_name=None if user_name is None else user_name.value,
    )  # fmt: skip
    return replace(part_of(update), size=facts.messages)


def extend_entries(collection: str, growing: Sequence[LiveGrowth], words: Words) -> Set[str]:
    """Add messages to the last passages of sessions, and to new ones. Return the sessions whose entries are there."""
    entries = {growth.session_id: entries_of_growth(growth) for growth in growing}
    lasts = [last for last, *_ in entries.values()]
    held = words.extend(collection, SPACE, lasts) if lasts else frozenset[str]()
    kept = {id_: new for id_, (last, *new) in entries.items() if last.id in held}
    words.put(collection, SPACE, [entry for new in kept.values() for entry in new])
    return kept.keys()


def entries_of_growth(growth: LiveGrowth) -> list[WordUnit]:
    """Return what new messages add to the entry of the last passage, and the entries of new passages."""
    texts: dict[int, list[str]] = {growth.fill[0]: []}
    fills = fill_up((len(message.text) for message in growth.messages), growth.fill)
    for message, (number, _) in zip(growth.messages, fills, strict=True):
        texts.setdefault(number, []).append(message.text)
    return [
        WordUnit(part_id(growth.session_id, number), searchable(said), group=growth.session_id)
        for number, said in texts.items()
    ]


def extend_outline(
    known: Outline, update: SessionExtension, version: Acceptance, vocabulary: TechnicalKeywords
) -> Extension | None:
    """Return what new messages make of a session, or None if that takes its other messages.

    It does if a message replaces another or comes before it, and if the update changes the name or when the session
    began.
    """
    ids = {message.message_id for message in update.messages}
    old = {id_ for _, id_, _ in known.live}
    late = any(version < at for at, _, _ in known.live)
    said = hear(known.said, update, version)
    is_renamed = update.started_at is not None or said.get("name") != known.said.get("name")
    if late or is_renamed or not ids.isdisjoint(known.sketch.ids | old):
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
    return Extension(facts, added, said, sketch, _next(known.revision, version), known.revision)


def refuse_too_many(session_id: str, messages: int) -> None:
    """Raise Mistaken for a session that would have too many messages."""
    if messages > MAX_MESSAGES:
        raise Mistaken(f"messages: session {session_id!r} would have more than {MAX_MESSAGES} messages")


def _add_by_history(
    collection: str, updates: Sequence[SessionExtension], version: Acceptance, ports: ConversationPorts
) -> dict[str, Change]:
    """Add updates to sessions that have to be read."""
    if not updates:
        return {}
    stored = ports.conversations.stored_all(collection, [update.session_id for update in updates])
    written = {}
    for update in updates:
        known = stored.get(update.session_id)
        before = () if known is None else known.session.messages
        names = {message.message_id for message in before}
        new = sum(message.message_id not in names for message in update.messages)
        if new:
            refuse_too_many(update.session_id, len(before) + new)
        history = add_live(History() if known is None else known.history, update, version)
        written[update.session_id] = StoredHistory(known, history)
    return store_histories(collection, written, ports)


def _next(revision: Revision, version: Acceptance) -> Revision:
    """Name the content of a session that was not read."""
    return Revision(hashlib.sha256(f"{revision} {version}".encode()).hexdigest())
