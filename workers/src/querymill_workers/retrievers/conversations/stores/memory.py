"""Conversations in the memory of this process."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from querymill_workers.jobs.faults import Conflict
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.ports.sessions import (
    Conversation,
    ConversationInfo,
    Conversations,
    Extension,
    Outline,
    PreparedConversation,
    Replacement,
    StoredConversation,
    conversation_of,
    info_of,
)
from querymill_workers.retrievers.conversations.rules.rank import RankParts, parts_of
from querymill_workers.retrievers.conversations.rules.references import Reference

_Place = tuple[str, str]


class MemoryConversations(Conversations):
    """`Conversations` without a server; ``changed`` holds the generation of each session's last change."""

    def __init__(self) -> None:
        self.prepared: dict[_Place, PreparedConversation] = {}
        self.parts: dict[_Place, RankParts] = {}
        self.known_references: dict[str, frozenset[Reference]] = {}
        self.generations: Counter[str] = Counter()
        self.changed: dict[_Place, int] = {}
        self.lock = threading.RLock()

    @override
    def generation(self, collection: str) -> int:
        return self.generations[collection]

    @override
    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        with self.lock:
            return {
                id_: conversation_of(self.prepared[collection, id_].session, self.parts[collection, id_])
                for id_ in session_ids
                if (collection, id_) in self.prepared
            }

    @override
    def describe(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, ConversationInfo]:
        return {id_: info_of(found) for id_, found in self.sessions(collection, session_ids).items()}

    @override
    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        known = self.known_references.get(collection, frozenset())
        ordered = sorted(known, key=lambda reference: (reference.source, reference.kind))
        return {id_: [reference for reference in ordered if reference.target == id_] for id_ in session_ids}

    @override
    def drop_remains(self, collection: str) -> None:
        with self.lock:
            if collection not in self.collections():
                self.changed = {place: changed for place, changed in self.changed.items() if place[0] != collection}
                self.known_references.pop(collection, None)

    @override
    def largest_version(self, at_least_us: int) -> int:
        with self.lock:
            histories = [each.history for each in self.prepared.values() if each.history is not None]
        versions = [live.version for history in histories for live in history.live]
        versions += [said.version for history in histories for said in history.said.values()]
        return max((us for us, _ in versions if us >= at_least_us), default=0)

    def collections(self) -> Sequence[str]:
        """List the collections that hold a session."""
        return sorted({collection for collection, _ in self.prepared})

    @override
    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        prepared = self.prepared.get((collection, session_id))
        return None if prepared is None else StoredConversation(prepared.session, prepared.revision, prepared.kept)

    @override
    def stored_all(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, StoredConversation]:
        found = {id_: self.stored(collection, id_) for id_ in session_ids}
        return {id_: stored for id_, stored in found.items() if stored is not None}

    def outlines(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Outline]:  # noqa: ARG002  # none has
        """See `Conversations.outlines`: this store is the reference, and always reads the whole history."""
        return {}

    def extend(self, collection: str, extensions: Sequence[Extension]) -> None:
        """See `Conversations.extend`.

        Raises:
            ValueError: Always, as no session in memory has an outline.
        """
        raise ValueError(f"{collection}: no outline of {[extension.facts.session_id for extension in extensions]}")

    @override
    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        place = (collection, prepared.facts.session_id)
        with self.lock:
            known = self.prepared.get(place)
            if (None if known is None else known.revision) != replacing:
                raise Conflict(f"session {place[1]!r} has changed since it was read")
            self.prepared[place] = prepared
            reference = self.parts[place].reference if place in self.parts else 0.0
            self.parts[place] = replace(parts_of(prepared.facts, 0), reference=reference)
            self.note_change(place)

    @override
    def put_all(self, collection: str, replacements: Sequence[Replacement]) -> None:
        for replacement in replacements:
            self.put(collection, replacement.prepared, replacing=replacement.replacing)

    @override
    def drop(self, collection: str, session_id: str) -> bool:
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
