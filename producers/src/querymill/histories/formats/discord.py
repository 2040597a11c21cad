"""Discord: a channel as DiscordChatExporter writes it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from querymill.histories.files import each, object_of
from querymill.histories.rules.contents import given, mapping, mappings, word
from querymill.histories.rules.copies import one_each
from querymill.histories.rules.times import moment
from querymill.histories.session import Asked, Format, Head, Read, Said, Session

#: Types of messages that somebody wrote, by name and by number.
_WRITTEN: Final = ("Default", "Reply", "0", "19", "20", "ChatInputCommand", "ThreadStarterMessage")


def recognise(head: Head) -> bool:
    """Return whether a file is a channel of Discord."""
    first = head.packed[:8_000]
    return first.startswith('{"guild":{') and '"channel":{' in first


def _read(path: Path, _asked: Asked) -> Read:
    whole = mapping(object_of(path))
    channel, guild = mapping(whole.get("channel")), mapping(whole.get("guild"))
    server = word(guild.get("name")) if word(guild.get("id")) not in (None, "0") else None
    name = word(channel.get("name"))
    about = given({"server": server, "topic": channel.get("topic"), "channel_type": channel.get("type")})
    title = f"{name} ({server})" if name and server else name
    yield Session(word(channel.get("id")) or path.stem, path, list(_messages(whole)), title, None, about)


def _messages(whole: dict[str, Any]) -> Iterator[Said]:
    seen: set[str | None] = set()
    for row in mappings(whole.get("messages")):
        id_, text = word(row.get("id")), str(row.get("content") or "").strip()
        if not text or id_ in seen or str(row.get("type", "Default")) not in _WRITTEN:
            continue
        seen.add(id_)
        author = mapping(row.get("author"))
        who = word(author.get("nickname")) or word(author.get("name")) or "unknown"
        yield Said(who, text, id_, moment(row.get("timestamp")))


def read(paths: Sequence[Path], asked: Asked) -> Read:
    """Read channels; one that was exported in parts is one session."""
    sessions: list[Session] = []
    for found in each(_read)(paths, asked):
        if isinstance(found, Session):
            sessions.append(found)
        else:
            yield found
    yield from one_each(sessions)


FORMAT: Final = Format("discord", recognise, read)
