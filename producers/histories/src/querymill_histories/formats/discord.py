"""Discord: a channel as DiscordChatExporter writes it, in four forms, or as it is in a download of the own data."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each, head_of, object_of
from querymill_histories.formats.discord_csv import is_csv, messages_in_csv
from querymill_histories.formats.discord_html import is_html, read_page
from querymill_histories.formats.discord_package import is_package, read_package
from querymill_histories.formats.discord_text import is_text, read_text
from querymill_histories.rules.contents import given, mapping, mappings, records, spoken, word
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.polls import of_poll
from querymill_histories.rules.remarks import ATTACHMENTS, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.rules.times import counted_moment
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: Types of messages that a person wrote, by name and by number.
_WRITTEN: Final = ("Default", "Reply", "0", "19", "20", "ChatInputCommand", "ThreadStarterMessage")

#: The endings of its forms: what says most first.
_FORMS: Final = (".json", ".html", ".txt", ".csv")
#: What stands for the server of a chat of two.
_ALONE: Final = "Direct Messages"
_FILE: Final = re.compile(r"(?P<names>.+) \[(?P<id>\d{15,20})\]")


def recognise(head: Head) -> bool:
    """Return whether a file is a channel of Discord."""
    if is_csv(head) or is_html(head) or is_text(head) or is_package(head):
        return True
    first = head.packed[:8_000]
    return first.startswith('{"guild":{') and '"channel":{' in first


def _read(path: Path, asked: ReadOptions) -> Read:
    head = head_of(path)
    if is_package(head):
        yield from read_package(path, asked)
    elif is_csv(head):
        left_out: Counter[str] = Counter()
        try:
            said = list(messages_in_csv(path, asked, left_out))
        except csv.Error as error:
            raise ValueError(f"not CSV: {error}") from error
        yield _named(path, said, left_out)
    elif is_text(head):
        text = read_text(path, asked)
        yield _named(path, text.said, text.left_out, text.about.get("Channel"), text.about.get("Guild"))
    elif is_html(head):
        page = read_page(path)
        server, channel, *_ = [*page.names, None, None]
        yield _named(path, page.said, page.left_out, channel, server)
    else:
        lost: list[UnreadPlace] = []
        yield _of_json(path, mapping(object_of(path, lost)))
        yield from lost


def _named(
    path: Path,
    said: list[HistoryMessage],
    left_out: Counter[str],
    channel: str | None = None,
    server: str | None = None,
) -> Session:
    """Return a channel whose file is named after it: ``server - category - channel [id].csv``."""
    match = _FILE.match(path.name)
    parts = match["names"].split(" - ") if match else []
    channel, server = channel and channel.rpartition(" / ")[2], None if server == _ALONE else server
    if channel is None and parts:
        channel, server = parts[-1], parts[0] if len(parts) > 1 and parts[0] != _ALONE else None
    title = f"{channel} ({server})" if channel and server else channel
    id_ = match["id"] if match else path.stem
    return Session(id_, path, list(said), title, None, given({"server": server}), left_out=+left_out)


def _of_json(path: Path, whole: dict[str, Any]) -> Session:
    channel, guild = mapping(whole.get("channel")), mapping(whole.get("guild"))
    server = word(guild.get("name")) if word(guild.get("id")) not in (None, "0") else None
    name = word(channel.get("name"))
    about = given({"server": server, "topic": channel.get("topic"), "channel_type": channel.get("type")})
    title = f"{name} ({server})" if name and server else name
    left_out: Counter[str] = Counter()
    said = list(_messages(whole, left_out))
    return Session(word(channel.get("id")) or path.stem, path, list(said), title, None, about, left_out=+left_out)


def _messages(whole: dict[str, Any], left_out: Counter[str]) -> Iterator[HistoryMessage]:
    seen: set[str | None] = set()
    for row in records(whole.get("messages"), left_out):
        id_, text = word(row.get("id")), _text(row, left_out)
        if id_ and id_ in seen:
            continue
        seen.add(id_)
        files = len(list(mappings(row.get("attachments")))) + len(list(mappings(row.get("stickers"))))
        left_out[ATTACHMENTS] += files
        if str(row.get("type", "Default")) not in _WRITTEN:
            left_out[SYSTEM_LINES] += 1
            continue
        if not text:
            left_out[WITHOUT_TEXT] += not files
            continue
        author = mapping(row.get("author"))
        who = word(author.get("nickname")) or word(author.get("name")) or "unknown"
        yield HistoryMessage(who, text, id_, counted_moment(row.get("timestamp"), left_out))


def _text(row: dict[str, Any], left_out: Counter[str]) -> str:
    """Return the text of a message, of one that it forwards, or of a card that a program wrote."""
    if text := spoken(row.get("content"), left_out):
        return text
    if text := spoken(mapping(row.get("forwardedMessage")).get("content"), left_out):
        return text
    if poll := mapping(row.get("poll")):
        answers = [
            (_worded(answer), answer.get("votes", answer.get("count"))) for answer in mappings(poll.get("answers"))
        ]
        return of_poll(_worded(poll.get("question")), answers)
    return "\n\n".join(filter(None, map(_card, mappings(row.get("embeds")))))


def _worded(value: Any) -> str:
    held = mapping(value)
    return word(value) or word(held.get("text")) or word(mapping(held.get("poll_media")).get("text")) or ""


def _card(embed: dict[str, Any]) -> str:
    fields = [
        f"{word(each_.get('name')) or ''}: {word(each_.get('value')) or ''}" for each_ in mappings(embed.get("fields"))
    ]
    return "\n".join(filter(None, (word(embed.get("title")), word(embed.get("description")), *fields)))


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read channels; one that was exported in parts is one session."""
    sessions: list[Session] = []
    for found in each(_read)(paths, asked):
        if isinstance(found, Session):
            sessions.append(found)
        else:
            yield found
    yield from one_each(_best(sessions))


def _best(sessions: Sequence[Session]) -> list[Session]:
    """Return of a channel that was exported in several forms the one that says most of it."""
    best: dict[str, int] = {}
    for session in sessions:
        best[session.id] = min(best.get(session.id, len(_FORMS)), _form(session.source))
    return [session for session in sessions if _form(session.source) == best[session.id]]


def _form(path: Path) -> int:
    return next((place for place, end in enumerate(_FORMS) if end in path.suffixes), len(_FORMS) - 1)


FORMAT: Final = HistoryFormat("discord", recognise, read)
