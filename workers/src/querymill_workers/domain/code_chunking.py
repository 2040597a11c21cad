"""Code cut into chunks of whole lines: at definitions where it can be, at blank lines else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from querymill_workers.domain.code import CodeChunk, Symbol

#: Raise it with every change of these rules, or of what is embedded: files that are stored are then taken in anew.
CODE_CHUNKING_VERSION: Final = 1

#: A break at one of these is worth more than any at a later line of less worth.
_ANYWHERE, _AFTER_BLANK, _DEFINITION = 0, 1, 2


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as it goes into a chunk: its tokens, and what a break before it is worth."""

    number: int
    text: str
    tokens: int
    worth: int


def chunk_code(
    content: str, symbols: Sequence[Symbol], *, count_tokens: Callable[[str], int], size: int = 400
) -> list[CodeChunk]:
    """Cut a file into chunks of at most ``size`` tokens.

    A chunk that is at least half full ends before a definition. One that is full ends at the last definition of its
    second half, else at the last blank line there, else where it is full. Chunks do not overlap, and together they
    are the file without its blank ends. Of a line that is longer than a chunk, only the beginning is kept: nobody
    wrote it by hand.

    Args:
        content: The file.
        symbols: Its definitions; other symbols are not looked at.
        count_tokens: Counts the tokens of a text.
        size: Tokens of a chunk at most.
    """
    definitions = [symbol for symbol in symbols if symbol.role == "definition"]
    chunks: list[CodeChunk] = []
    for lines in _parts(_lines(content, {symbol.line for symbol in definitions}, count_tokens, size), size):
        while lines and not lines[-1].text.strip():
            lines.pop()
        begin = next((place for place, line in enumerate(lines) if line.text.strip()), None)
        if begin is not None:
            text = "\n".join(line.text for line in lines[begin:])
            first, last = lines[begin].number, lines[-1].number
            chunks.append(CodeChunk(len(chunks), first, last, text, _part_of(first, last, definitions)))
    return chunks


def embedded_text(path: str, chunk: CodeChunk) -> str:
    """Write what is embedded of a chunk: where it stands, then its lines."""
    return f"{path} {chunk.symbol}".rstrip() + f"\n{chunk.text}"


def _lines(content: str, starts: set[int], count_tokens: Callable[[str], int], size: int) -> list[_Line]:
    lines: list[_Line] = []
    after_blank = False
    for number, whole in enumerate(content.split("\n"), start=1):
        text, tokens = _fitted(whole.rstrip("\r"), count_tokens, size)
        worth = _DEFINITION if number in starts else _AFTER_BLANK if after_blank else _ANYWHERE
        lines.append(_Line(number, text, tokens, worth))
        after_blank = not text.strip()
    return lines


def _fitted(text: str, count_tokens: Callable[[str], int], size: int) -> tuple[str, int]:
    text = text[: size * 8]  # no more fits, and counting a line of a megabyte takes its time
    while (tokens := count_tokens(text)) > size:
        text = text[: min(len(text) * size // tokens, len(text) - 1)]
    return text, tokens


def _parts(lines: Sequence[_Line], size: int) -> list[list[_Line]]:
    parts: list[list[_Line]] = []
    held: list[_Line] = []
    for line in lines:
        used = sum(one.tokens for one in held)
        if held and used + line.tokens > size:
            cut = len(held) if line.worth == _DEFINITION else _best_break(held)
            parts.append(held[:cut])
            held = held[cut:]
        elif line.worth == _DEFINITION and used * 2 >= size:
            parts.append(held)
            held = []
        held.append(line)
    return [*parts, held]


def _best_break(held: Sequence[_Line]) -> int:
    """Choose where a full chunk ends: as the number of lines that stay in it."""
    total, used = sum(line.tokens for line in held), 0
    best, worth = len(held), _ANYWHERE
    for place, line in enumerate(held):
        if place and used * 2 >= total and line.worth >= max(worth, _AFTER_BLANK):
            best, worth = place, line.worth
        used += line.tokens
    return best


def _part_of(first: int, last: int, definitions: Sequence[Symbol]) -> str:
    """Name what lines are part of: the innermost definition around the first, else the first one within."""
    around = [symbol for symbol in definitions if symbol.line <= first <= symbol.end_line]
    within = [symbol for symbol in definitions if first <= symbol.line <= last]
    if around:
        found = max(around, key=lambda symbol: (symbol.line, -symbol.end_line))
    elif within:
        found = min(within, key=lambda symbol: symbol.line)
    else:
        return ""
    return f"{found.qualifier}.{found.name}".lstrip(".")
