"""Matrix: a room as Element exports it in JSON, as a list of events, as web pages or as plain text."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, head_of, object_of
from querymill_histories.formats.matrix_html import is_html, read_page
from querymill_histories.formats.matrix_text import is_text, read_text
from querymill_histories.formats.web_pages import join_pages
from querymill_histories.rules.contents import mapping, mappings, records, spoken, word
from querymill_histories.rules.polls import of_poll
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: How the ids of rooms begin that were exported as web pages.
_OF_PAGES: Final = "matrix-pages-"
_SAID: Final = ("m.text", "m.notice", "m.emote")
_POLLS: Final = ("m.poll.start", "org.matrix.msc3381.poll.start")
#: Above an answer, what it answers is quoted.
_ANSWERED: Final = re.compile(r"\A> <[^>\n]+>.*(?:\n>.*)*\n\n")


def recognise(head: Head) -> bool:
    """Return whether a file holds a room."""
    if is_html(head) or is_text(head):
        return True
    for record in head.records[:1]:
        is_event = any("origin_server_ts" in row and "sender" in row for row in mappings(record.get("messages")))
        return is_event or ("room_name" in record and isinstance(record.get("messages"), list))
    return False


def _read(path: Path, asked: ReadOptions) -> Read:
    head = head_of(path)
    if is_html(head):
        page = read_page(path, asked.zone)
        id_ = f"{_OF_PAGES}{hashlib.sha256((page.name or path.parent.name).encode()).hexdigest()[:16]}"
        about = {"time_zone": str(asked.zone)}
        yield Session(id_, path, list(page.said), page.name or None, None, about, left_out=+page.left_out)
    elif is_text(head):
        yield read_text(path, asked)
    else:
        yield from _of_json(path)


def _of_json(path: Path) -> Read:
    lost: list[UnreadPlace] = []
    room = mapping(object_of(path, lost))
    yield from lost
    left_out: Counter[str] = Counter()
    events = list(records(room.get("messages"), left_out))
    names = {str(event.get("state_key")): name for event in events if event.get("type") == "m.room.member"
             and (name := word(mapping(event.get("content")).get("displayname")))}  # fmt: skip
    edits = dict(_edits(events))
    entries = list(_messages(events, names, edits, left_out))
    room_id = next((word(event.get("room_id")) for event in events if event.get("room_id")), None)
    about = {"topic": topic} if (topic := word(room.get("topic"))) else {}
    yield Session(
        room_id or path.stem, path, list(entries), word(room.get("room_name")), None, about, left_out=+left_out
    )


def _sent(event: dict[str, Any]) -> float:
    at = event.get("origin_server_ts")
    return float(at) if isinstance(at, int | float) else 0.0


def _edits(events: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the contents that replace those of other events, by the id of these."""
    for event in sorted(events, key=_sent):
        content = mapping(event.get("content"))
        relation = mapping(content.get("m.relates_to"))
        if relation.get("rel_type") == "m.replace" and isinstance(relation.get("event_id"), str):
            yield relation["event_id"], mapping(content.get("m.new_content"))


def _messages(
    events: list[dict[str, Any]], names: dict[str, str], edits: dict[str, dict[str, Any]], left_out: Counter[str]
) -> Iterator[HistoryMessage]:
    for event in sorted(events, key=_sent):
        id_, kind, sender = word(event.get("event_id")), event.get("type"), word(event.get("sender")) or "unknown"
        content = mapping(event.get("content"))
        if mapping(content.get("m.relates_to")).get("rel_type") == "m.replace":
            continue
        text = ""
        if "redacted_because" in mapping(event.get("unsigned")) or (kind == "m.room.message" and not content):
            left_out[DELETED] += 1
        elif kind in _POLLS:
            text = _poll(content)
        elif kind == "m.room.encrypted":
            left_out["messages that could not be decrypted"] += 1
        elif kind in ("m.room.message", "m.sticker"):
            text = _text(edits.get(str(id_)) or content, left_out)
            left_out[WITHOUT_TEXT] += not text and content.get("msgtype") in _SAID
            left_out[ATTACHMENTS] += content.get("msgtype") not in _SAID
        else:
            left_out[SYSTEM_LINES] += 1
        if text:
            yield HistoryMessage(
                names.get(sender, sender), text, id_, counted_moment(event.get("origin_server_ts"), left_out)
            )


def _text(content: dict[str, Any], left_out: Counter[str]) -> str:
    """Return the text of a message, or the caption of a file, which is not the name of the file."""
    body = spoken(content.get("body"), left_out)
    if content.get("msgtype") not in _SAID:
        return body.strip() if content.get("filename") not in (None, body) else ""
    return _ANSWERED.sub("", body).strip()


def _poll(content: dict[str, Any]) -> str:
    poll = next((mapping(content[name]) for name in ("m.poll", *_POLLS) if name in content), {})
    return of_poll(_worded(poll.get("question")), [(_worded(answer), None) for answer in mappings(poll.get("answers"))])


def _worded(value: Any) -> str:
    held = mapping(value)
    named = next((held[name] for name in ("org.matrix.msc1767.text", "m.text", "body") if name in held), "")
    return word(named) or next((word(part.get("body")) or "" for part in mappings(named)), "")


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read rooms; the pages of one room are one session."""
    yield from join_pages(each(_read)(paths, asked), _OF_PAGES)


FORMAT: Final = HistoryFormat("matrix", recognise, read, read_with="new")
