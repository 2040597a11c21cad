"""The conversations of all collections in this process."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from querymill_workers.domain.conversation_rank import RankParts, parts_of
from querymill_workers.domain.references import Reference
from querymill_workers.ports import (
    Conversation,
    ConversationDraft,
    Revision,
    StoredSession,
    Unavailable,
    conversation_of,
)

_Place = tuple[str, str]


class MemoryConversations:
    """`Conversations` without a server."""

    def __init__(self) -> None:
        self._drafts: dict[_Place, ConversationDraft] = {}
        self._parts: dict[_Place, RankParts] = {}
        self._references: dict[str, frozenset[Reference]] = {}
        self._generations: Counter[str] = Counter()
        self._lock = threading.RLock()

    def generation(self, collection: str) -> int:
        """See `Conversations.generation`."""
        return self._generations[collection]

    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        """See `Conversations.sessions`."""
        with self._lock:
            return {
                id_: conversation_of(self._drafts[collection, id_].session, self._parts[collection, id_])
                for id_ in session_ids
                if (collection, id_) in self._drafts
            }

    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        """See `Conversations.references`."""
        known = self._references.get(collection, frozenset())
        ordered = sorted(known, key=lambda one: (one.source, one.kind))
        return {id_: [one for one in ordered if one.target == id_] for id_ in session_ids}

    def active_between(self, collection: str, start: datetime | None, end: datetime | None) -> Sequence[str]:
        """See `Conversations.active_between`."""
        with self._lock:
            ids = [id_ for name, id_ in self._drafts if name == collection]
            found = self.sessions(collection, ids)
        return sorted(
            id_
            for id_, conversation in found.items()
            if any(_within(message.created_at, start, end) for message in conversation.messages)
        )

    def collections(self) -> Sequence[str]:
        """See `Conversations.collections`."""
        return sorted({collection for collection, _ in self._drafts})

    def stored(self, collection: str, session_id: str) -> StoredSession | None:
        """See `Conversations.stored`."""
        draft = self._drafts.get((collection, session_id))
        return None if draft is None else StoredSession(draft.session, draft.revision)

    def put(self, collection: str, draft: ConversationDraft, *, replacing: Revision | None) -> None:
        """See `Conversations.put`."""
        place = (collection, draft.facts.session_id)
        with self._lock:
            known = self._drafts.get(place)
            if (None if known is None else known.revision) != replacing:
                raise Unavailable(f"session {place[1]!r} was changed meanwhile")
            self._drafts[place] = draft
            counted = 0.0 if known is None else self._parts[place].reference * 5
            self._parts[place] = parts_of(draft.facts, counted)
            self._generations[collection] += 1

    def drop(self, collection: str, session_id: str) -> bool:
        """See `Conversations.drop`."""
        with self._lock:
            if self._drafts.pop((collection, session_id), None) is None:
                return False
            del self._parts[collection, session_id]
            self._generations[collection] += 1
            return True


def _within(moment: datetime, start: datetime | None, end: datetime | None) -> bool:
    return (start is None or moment >= start) and (end is None or moment < end)
