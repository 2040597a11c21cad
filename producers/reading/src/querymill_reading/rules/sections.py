"""Texts without pages become sections: one for each heading, and of long ones a part for every few paragraphs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

#: Characters of a section. A longer one is cut between paragraphs.
MAX_SECTION_CHARS: Final = 6_000
#: A shorter section takes what follows under a lower heading.
MIN_SECTION_CHARS: Final = 600
#: Headings of these levels begin a section; those below stay inside.
MAX_LEVEL: Final = 3


@dataclass(frozen=True, slots=True)
class SectionPart:
    """A paragraph, a table, or a heading, which has a ``level`` from 1 on."""

    text: str
    level: int = 0


@dataclass(slots=True)
class _Open:
    """A section that goes on. ``above`` are headings before it that nothing stands under and that are not its own."""

    path: list[str]
    texts: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        self.texts.append(text)
        self.size += len(text)


def sections(parts: Iterable[SectionPart]) -> list[str]:
    """Cut a document into sections, each of which begins with the headings that it stands under.

    For example, the heading Agents, a long text, and the lower heading State with its text give two sections, the
    second of which begins with ``Agents › State``. A section without text of its own joins the next one; its headings
    stand above those of that one, unless these go on with them.
    """
    done: list[str] = []
    path: dict[int, str] = {}
    held = _Open([])
    for part in parts:
        if part.level and part.level <= MAX_LEVEL:
            deeper = held.path and part.level > len(held.path)
            path = {level: text for level, text in path.items() if level < part.level} | {part.level: part.text}
            if held.texts and not (deeper and held.size < MIN_SECTION_CHARS):
                done.extend(_written(held))
                held = _Open(list(path.values()))
            elif held.texts:
                held.add(part.text)
            else:
                held = _Open(list(path.values()), above=[*held.above, *_left(held.path, list(path.values()))])
        elif part.text.strip():
            held.add(part.text)
    if held.texts or held.path:
        done.extend(_written(held))
    return done


def _left(before: Sequence[str], path: Sequence[str]) -> list[str]:
    """Return a path of headings in a line, unless the other goes on with it."""
    return [" › ".join(before)] if before and list(path[: len(before)]) != list(before) else []


def _written(held: _Open) -> Iterator[str]:
    heading = " › ".join(held.path)
    *alone, above = packed(held.above) or [[]]
    yield from ("\n\n".join(texts) for texts in alone)
    for texts in packed(held.texts) or [[]]:
        yield "\n\n".join([*above, heading, *texts] if heading else texts)
        above = []


def packed(texts: Sequence[str], size: int = MAX_SECTION_CHARS) -> list[list[str]]:
    """Pack paragraphs, in their order, into groups of about ``size`` characters. None is cut."""
    groups: list[list[str]] = []
    room = 0
    for text in texts:
        if not groups or (len(text) > room and groups[-1]):
            groups.append([])
            room = size
        groups[-1].append(text)
        room -= len(text)
    return groups
