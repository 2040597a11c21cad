"""Slack: an unpacked export, with a folder for each channel and a file for each day."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import BROKEN, object_of, reason_of
from querymill_histories.formats.slack_blocks import text_of
from querymill_histories.rules.contents import mapping, mappings, records, word
from querymill_histories.rules.remarks import ATTACHMENTS, DELETED, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: Lists of channels, and other files of an export that hold no messages.
_CHANNELS: Final = ("channels.json", "groups.json", "dms.json", "mpims.json")
_BESIDE: Final = (
    *_CHANNELS,
    "users.json",
    "integration_logs.json",
    "canvases.json",
    "lists.json",
    "huddle_transcripts.json",
)
#: Kinds of messages that a person or a program wrote. Others say what happened.
_WRITTEN: Final = (
    None, "thread_broadcast", "reply_broadcast", "me_message", "file_share", "file_comment", "bot_message",
    "document_mention", "huddle_thread", "slackbot_response",
)  # fmt: skip
_UPLOADED: Final = re.compile(r"<@\w+(?:\|[^>]*)?> (?:uploaded|shared) a file")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d\.json$")


def recognise(head: Head) -> bool:
    """Return whether a file belongs to an export of Slack."""
    first = head.packed[:8_000]
    if head.path.name in _BESIDE:
        return first.startswith("[") and ('"id":' in first or '"user_id":' in first or first == "[]")
    has_day = _DAY.match(head.path.name) is not None
    is_message = '"type":"message"' in first or '"ts":"' in head.packed
    return first.startswith("[") and is_message and (has_day or '"subtype":' in first or '"user":"U' in first)


def read(paths: Sequence[Path], _asked: ReadOptions) -> Read:
    """Read channels: the days of one are one session, in the order of time."""
    for folder, files in _days(paths).items():
        messages: dict[str, dict[str, Any]] = {}
        left_out: Counter[str] = Counter()
        for path in dict.fromkeys(files):
            lost: list[UnreadPlace] = []
            try:
                for row in records(object_of(path, lost), left_out):
                    messages[word(row.get("ts")) or f"{path} {len(messages)}"] = row
            except BROKEN as error:
                yield UnreadPlace(str(path), reason_of(error))
            yield from lost
        yield _session(folder, [messages[ts] for ts in sorted(messages, key=_seconds)], left_out)


def _days(paths: Sequence[Path]) -> dict[Path, list[Path]]:
    """Return the files of each channel. The list of channels stands for the whole export."""
    days: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in paths:
        if path.name == "channels.json":
            for day in sorted(path.parent.glob("*/*.json")):
                if _DAY.match(day.name):
                    days[day.parent].append(day)
        elif path.name not in _BESIDE:
            days[path.parent].append(path)
    return days


def _seconds(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        return 0.0


def _list_at(path: Path) -> Iterator[dict[str, Any]]:
    try:
        yield from mappings(json.loads(path.read_bytes()))
    except BROKEN:
        return


def _session(folder: Path, rows: list[dict[str, Any]], left_out: Counter[str]) -> Session:
    names = {str(user.get("id")): name_of(user) for user in _list_at(folder.parent / "users.json")}
    listed = [channel for file in _CHANNELS for channel in _list_at(folder.parent / file)]
    channel = next((each for each in listed if folder.name in (each.get("name"), each.get("id"))), {})
    id_ = word(channel.get("id")) or folder.name
    entries: list[HistoryMessage] = []
    for row in rows:
        files = len(list(mappings(row.get("files"))))
        left_out[ATTACHMENTS] += files
        text = text_of(row, names, left_out)
        if row.get("subtype") == "tombstone":
            left_out[DELETED] += 1
        elif row.get("hidden") or row.get("subtype") not in _WRITTEN or _UPLOADED.match(str(row.get("text") or "")):
            left_out[SYSTEM_LINES] += 1
        elif text:
            ts = word(row.get("ts"))
            at = counted_moment(ts or "without", left_out)
            entries.append(HistoryMessage(author_of(row, names), text, f"{id_}-{ts}" if ts else None, at))
        elif not files:
            left_out[WITHOUT_TEXT] += 1
    listed_members = channel.get("members")
    members = [names.get(str(member), str(member)) for member in listed_members] if isinstance(
        listed_members, list) else []  # fmt: skip
    name = word(channel.get("name")) or (", ".join(members) if members and folder.name == id_ else folder.name)
    return Session(id_, folder, list(entries), name, left_out=+left_out)


def author_of(row: dict[str, Any], names: Mapping[str, str]) -> str:
    """Return who wrote a message. A program writes under the name that it gives itself."""
    user = str(row.get("user") or "")
    by_program = word(row.get("username")) or word(mapping(row.get("bot_profile")).get("name"))
    if user in names and not (row.get("bot_id") and by_program):
        return names[user]
    otherwise = by_program or user or word(row.get("bot_id")) or "unknown"
    return name_of({"profile": mapping(row.get("user_profile")), "name": otherwise})


def name_of(user: dict[str, Any]) -> str:
    """Return the name that Slack shows for a person."""
    profile = mapping(user.get("profile"))
    shown = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next((name for name in map(word, shown) if name), "unknown")


FORMAT: Final = HistoryFormat("slack", recognise, read, read_with="folder")
