"""Zulip: the export of an organization, or answers of its interface. Each topic and private chat is a session."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import BROKEN, object_of, reason_of
from querymill_histories.rules.contents import mapping, mappings, word
from querymill_histories.rules.remarks import WITHOUT_TEXT
from querymill_histories.rules.times import moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

_PEOPLE: Final = ("zerver_userprofile", "zerver_userprofile_crossrealm", "zerver_userprofile_mirrordummy")
_REALM: Final = "realm.json"
#: What a recipient's type says that its id is of.
_PERSON, _CHANNEL, _GROUP = 1, 2, 3
_TOPIC: Final = re.compile(r"\s+")


def recognise(head: Head) -> bool:
    """Return whether a file holds messages of Zulip, or says who speaks in them."""
    for record in head.records[:1]:
        if head.path.name == _REALM:
            return any(name.startswith("zerver_") for name in record)
        is_api = any("sender_full_name" in row and "content" in row for row in mappings(record.get("messages")))
        return isinstance(record.get("zerver_message"), list) or is_api
    return False


def read(paths: Sequence[Path], _asked: ReadOptions) -> Read:
    """Read messages; a topic that goes on in another file is one session."""
    by_folder: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in paths:
        if path.name != _REALM:
            by_folder[path.parent].append(path)
    for folder, files in by_folder.items():
        realm = _realm(folder / _REALM)
        held: defaultdict[str, list[tuple[Path, dict[str, Any]]]] = defaultdict(list)
        for path in files:
            try:
                for row in _rows(mapping(object_of(path))):
                    held[_place(row, realm)].append((path, row))
            except BROKEN as error:
                yield UnreadPlace(str(path), reason_of(error))
        for place, rows in held.items():
            yield _session(place, rows, realm)


class _Realm:
    """Who and what the ids of an export stand for."""

    def __init__(self, whole: dict[str, Any]) -> None:
        people = [row for name in _PEOPLE for row in mappings(whole.get(name))]
        self.people = {
            _key(row.get("id")): word(row.get("full_name")) or word(row.get("email")) or "" for row in people
        }
        self.channels = {
            _key(row.get("id")): word(row.get("name")) or "" for row in mappings(whole.get("zerver_stream"))
        }
        self.recipients = {
            _key(row.get("id")): (row.get("type"), _key(row.get("type_id")))
            for row in mappings(whole.get("zerver_recipient"))
        }


def _realm(path: Path) -> _Realm:
    try:
        return _Realm(mapping(object_of(path)))
    except BROKEN:
        return _Realm({})


def _rows(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from mappings(whole.get("zerver_message"))
    yield from mappings(whole.get("messages"))


def _place(row: dict[str, Any], realm: _Realm) -> str:
    """Return where a message was written: ``channel > topic``, or the people of a private chat."""
    topic = _TOPIC.sub(" ", str(row.get("subject") or row.get("topic") or "")).strip()
    shown = row.get("display_recipient")
    if isinstance(shown, str):
        return f"{shown} > {topic}"
    if isinstance(shown, list):
        return ", ".join(sorted(str(person.get("full_name")) for person in mappings(shown)))
    kind, id_ = realm.recipients.get(_key(row.get("recipient")), (None, None))
    if kind == _CHANNEL:
        return f"{realm.channels.get(id_) or f'channel {id_}'} > {topic}"
    if kind == _PERSON:  # a chat of two has a recipient for each of them
        return ", ".join(sorted({_name(row.get("sender"), realm), _name(id_, realm)}))
    if kind == _GROUP:
        return f"group {id_}"
    return f"recipient {row.get('recipient')} > {topic}" if topic else f"recipient {row.get('recipient')}"


def _name(id_: Any, realm: _Realm) -> str:
    return realm.people.get(_key(id_)) or f"user {id_}"


def _key(id_: Any) -> int | str | None:
    return id_ if isinstance(id_, int | str) else None


def _session(place: str, rows: list[tuple[Path, dict[str, Any]]], realm: _Realm) -> Session:
    rows = sorted(rows, key=lambda row: _seconds(row[1]))
    source = rows[0][0]
    left_out: Counter[str] = Counter()
    said: list[HistoryMessage] = []
    for path, row in rows:
        text = str(row.get("content") or "").strip()
        author = word(row.get("sender_full_name")) or _name(row.get("sender"), realm)
        if text:
            where = None if path == source else path
            said.append(HistoryMessage(author, text, word(row.get("id")), moment(_seconds(row)), None, where))
        else:
            left_out[WITHOUT_TEXT] += 1
    if place.startswith("group "):
        place = ", ".join(sorted({message.role for message in said})) or place
    others = tuple(path for path, _ in rows)
    ids = [str(row.get("id")) for _, row in rows]
    return Session(f"zulip-{ids[0]}", source, list(said), place, None, others=others, left_out=left_out)


def _seconds(row: dict[str, Any]) -> float:
    value = row.get("date_sent", row.get("timestamp"))
    return float(value) if isinstance(value, int | float) else 0.0


FORMAT: Final = HistoryFormat("zulip", recognise, read, read_with="folder")
