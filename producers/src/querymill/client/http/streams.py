"""Server-Sent Events of a job as they come: bytes become events."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream: its id and type, "" where it has none, and its data."""

    id: str
    type: str
    data: str


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[ServerEvent]:
    """Yield the events of a stream. Comments are left out, and so is what was cut off before its end."""
    fields: dict[str, str] = {}
    async for line in _lines(chunks):
        if not line:
            if "data" in fields:
                yield ServerEvent(fields.get("id", ""), fields.get("event", ""), fields["data"])
            fields = {}
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        fields[name] = f"{fields['data']}\n{value}" if name == "data" and "data" in fields else value


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield whole lines. Only a line feed ends one: a text may hold any other separator."""
    begun: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        for other in others:
            yield b"".join(begun).decode(errors="replace").removesuffix("\r")
            begun = [other]
