"""How far a session has grown since it was sent. Pure: it compares hashes."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: Hexadecimal characters of the hash of a message: 48 bits, among the few that one session has at one place.
HASH_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class SessionMark:
    """What a session was like: a hash of its head, and one of each message, joined. ``name`` is its name."""

    head: str
    messages: str
    name: str | None = None

    @property
    def count(self) -> int:
        """How many messages it has."""
        return len(self.messages) // HASH_CHARS


def mark_of(row: Mapping[str, Any]) -> SessionMark:
    """Return the mark of a session, as a line of JSON has it."""
    head = {name: value for name, value in row.items() if name != "messages"}
    name = head.get("name")
    return SessionMark(_hash(head), "".join(map(_hash, row["messages"])), name if isinstance(name, str) else None)


def added_after(before: SessionMark | None, now: SessionMark) -> int | None:
    """Return after how many messages a session has grown, or None if more than its end has changed.

    ``a b`` grows to ``a b c`` after 2. ``a b`` becomes ``a x``: None, as if there had been no session.
    """
    if before is None or before.head != now.head or not now.messages.startswith(before.messages):
        return None
    return before.count


def _hash(value: object) -> str:
    written = json.dumps(value, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(written.encode()).hexdigest()[:HASH_CHARS]
