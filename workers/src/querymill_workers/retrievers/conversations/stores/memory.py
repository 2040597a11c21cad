"""Conversations in the memory of this process."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Final

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.ports.sessions import (
    Conversation,
    ConversationInfo,
    PreparedConversation,
    StoredConversation,
    conversation_of,
    info_of,
)
from querymill_workers.retrievers.conversations.rules.rank import RankParts, parts_of
from querymill_workers.retrievers.conversations.rules.references import Reference

_Place = tuple[str, str]


class MemoryConversations:
    """`Conversations` without a server; ``changed`` holds the generation of each session's last change."""

    kind: Final = "conversations"

    def __init__(self) -> None:
        self.prepared: dict[_Place, PreparedConversation] = {}
        self.parts: dict[_Place, RankParts] = {}
        self.known_references: dict[str, frozenset[Reference]] = {}
        self.generations: Counter[str] = Counter()
        self.changed: dict[_Place, int] = {}
        self.lock = threading.RLock()
        self._changing: dict[_Place, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def changing(self, collection: str, session_id: str) -> Iterator[None]:
        """See `Conversations.changing`."""
        with self.lock:
            alone = self._changing[collection, session_id]
        with alone:
            yield

    def generation(self, collection: str) -> int:
        """See `Conversations.generation`."""
        return self.generations[collection]

    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        """See `Conversations.sessions`."""
        with self.lock:
            return {
                id_: conversation_of(self.prepared[collection, id_].session, self.parts[collection, id_])
                for id_ in session_ids
                if (collection, id_) in self.prepared
            }

    def describe(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, ConversationInfo]:
        """See `Conversations.describe`."""
        return {id_: info_of(found) for id_, found in self.sessions(collection, session_ids).items()}

    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        """See `Conversations.references`."""
        known = self.known_references.get(collection, frozenset())
        ordered = sorted(known, key=lambda reference: (reference.source, reference.kind))
        return {id_: [reference for reference in ordered if reference.target == id_] for id_ in session_ids}

    def active_between(self, collection: str, start: datetime | None, end: datetime | None) -> Sequence[str]:
        """See `Conversations.active_between`."""
        with self.lock:
            ids = [id_ for name, id_ in self.prepared if name == collection]
            found = self.sessions(collection, ids)
        return sorted(
            id_
            for id_, conversation in found.items()
            if any(_within(message.created_at, start, end) for message in conversation.messages)
        )

    def collections(self) -> Sequence[str]:
        """See `Conversations.collections`."""
        return sorted({collection for collection, _ in self.prepared})

    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        """See `Conversations.stored`."""
        prepared = self.prepared.get((collection, session_id))
        return None if prepared is None else StoredConversation(prepared.session, prepared.revision)

    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        """See `Conversations.put`."""
        place = (collection, prepared.facts.session_id)
        with self.lock:
            known = self.prepared.get(place)
            if (None if known is None else known.revision) != replacing:
                raise Unavailable(f"session {place[1]!r} has changed since it was read")
            self.prepared[place] = prepared
            reference = self.parts[place].reference if place in self.parts else 0.0
            self.parts[place] = replace(parts_of(prepared.facts, 0), reference=reference)
            self.note_change(place)

    def drop(self, collection: str, session_id: str) -> bool:
        """See `Conversations.drop`."""
        with self.lock:
            if self.prepared.pop((collection, session_id), None) is None:
                return False
            del self.parts[collection, session_id]
            self.note_change((collection, session_id))
            return True

    def note_change(self, place: _Place) -> None:
        """Raise the generation, and mark the rank of the session for an update."""
        self.generations[place[0]] += 1
        self.changed[place] = self.generations[place[0]]


def _within(moment: datetime, start: datetime | None, end: datetime | None) -> bool:
    return (start is None or moment >= start) and (end is None or moment < end)
