"""The order of acceptance within one session: what it holds, whichever of its writes is applied last.

A whole session replaces everything that was accepted before it. A live message is added at the end, or replaces the
message with its id at that message's place. A drop removes everything that was accepted before it. So a history keeps
the last whole session, and all that was accepted after it, each with its version.

For example, of the writes in the order 1 (whole: a, b), 2 (live: c), 3 (live: a'), 4 (whole: a, d), 5 (live: c'), a
session holds a, d, c'. It does so too if they are applied in the order 5, 2, 4, 1, 3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_shared.values import value

#: When a write was accepted, in µs since the epoch, and the id of its job. Writes are ordered by it.
Acceptance = tuple[int, str]

#: What an update may say of the session itself.
FIELDS: Final = ("name", "user_name", "started_at")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@value
class LiveMessage:
    """A message of an update. ``place`` is its place within the update."""

    version: Acceptance
    place: int
    message: ChatMessage

    @property
    def order(self) -> tuple[Acceptance, int]:
        """Return what live messages are ordered by."""
        return self.version, self.place


@value
class FieldWrite:
    """What an update said of a field of the session."""

    version: Acceptance
    value: Any


@value
class History:
    """The last whole session, if there is one, and what was accepted after it.

    ``live`` is ordered. A message that a later update replaced keeps its place there, but not its text.
    """

    whole: ChatSession | None = None
    live: tuple[LiveMessage, ...] = ()
    said: Mapping[str, FieldWrite] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is left of the session."""
        return self.whole is None and not self.live


def put_whole(history: History, session: ChatSession, version: Acceptance) -> History:
    """Put a whole session in place of what was accepted before it."""
    later = forget_before(history, version)
    return replace(later, whole=_with_edits(session, later.live))


def forget_before(history: History, version: Acceptance) -> History:
    """Forget what was accepted before a version, or with it."""
    return History(
        live=tuple(sent for sent in history.live if sent.version > version),
        said={name: said for name, said in history.said.items() if said.version > version},
    )


def add_live(history: History, update: SessionExtension, version: Acceptance) -> History:
    """Add an update that was accepted after the whole session. An update that is there already adds nothing."""
    others = [sent for sent in history.live if sent.version != version]
    added = [LiveMessage(version, place, message) for place, message in enumerate(update.messages)]
    live = _without_replaced_texts(sorted((*others, *added), key=lambda sent: sent.order))
    whole = None if history.whole is None else _with_edits(history.whole, live)
    return History(whole, tuple(live), hear(history.said, update, version))


def hear(said: Mapping[str, FieldWrite], update: SessionExtension, version: Acceptance) -> Mapping[str, FieldWrite]:
    """Return what updates said of the session with one more, the latest of each field."""
    given = {name: getattr(update, name) for name in FIELDS}
    heard = {
        name: FieldWrite(version, value)
        for name, value in given.items()
        if value is not None and (name not in said or said[name].version < version)
    }
    return {**said, **heard}


def session_of(session_id: str, history: History) -> ChatSession | None:
    """Return the session that a history amounts to, or None if nothing is left of it."""
    if history.is_empty:
        return None
    known = () if history.whole is None else history.whole.messages
    first = {message.message_id: message for message in known if message.message_id is not None}
    latest = {sent.message.message_id: sent.message for sent in history.live}
    messages = (*known, *(message for id_, message in latest.items() if id_ not in first))
    given = {name: said.value for name, said in history.said.items()}
    if history.whole is not None:
        return history.whole.model_copy(update={**given, "messages": messages})
    return ChatSession.model_construct(
        session_id=session_id, name=given.get("name"), user_name=given.get("user_name"),
        started_at=given.get("started_at") or begin_of(history.live), messages=messages,
    )  # fmt: skip


def begin_of(live: Sequence[LiveMessage]) -> datetime:
    """Return when a session begins that no write says it of: with the earliest message of its first update.

    If that has no times either, it is the moment at which the update was accepted.
    """
    first = min(sent.version for sent in live)
    times = [sent.message.created_at for sent in live if sent.version == first and sent.message.created_at is not None]
    return min(times, default=_EPOCH + timedelta(microseconds=first[0]))


def _with_edits(whole: ChatSession, live: Sequence[LiveMessage]) -> ChatSession:
    """Put the latest texts of live messages in the places that they have in a whole session."""
    latest = {sent.message.message_id: sent.message for sent in live}
    messages = tuple(latest.get(message.message_id, message) for message in whole.messages)
    return whole if messages == whole.messages else whole.model_copy(update={"messages": messages})


def _without_replaced_texts(live: Sequence[LiveMessage]) -> list[LiveMessage]:
    latest = {sent.message.message_id: sent.order for sent in live}
    return [
        sent
        if sent.order == latest[sent.message.message_id] or not sent.message.text
        else replace(sent, message=sent.message.model_copy(update={"text": ""}))
        for sent in live
    ]
