"""Cutting code into chunks of whole lines, at definitions where possible, otherwise at blank lines."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol
from querymill_workers.text.passages import TextSpan, split_text

#: Raise this with every change of these rules or of the embedded text: stored files are then ingested again.
CODE_CHUNKING_VERSION: Final = 3

#: The worth of a break before a line. A break of more worth is chosen even if one of less worth comes later.
_ANYWHERE, _AFTER_BLANK, _DEFINITION = 0, 1, 2


@value
class _Line:
    """A line of a chunk, with its tokens and the worth of a break before it."""

    number: int
    text: str
    tokens: int
    worth: int


def chunk_code(
    content: str, symbols: Sequence[Symbol], *, count_tokens: Callable[[str], int], size: int = 400
) -> list[CodeChunk]:
    """Cut a file into chunks of at most ``size`` tokens.

    A chunk that is at least half full ends before the next definition. A full chunk ends at the last definition in its
    second half, or else at the last blank line there, or else where it is full. Chunks do not overlap and together
    cover every line that is not blank. A line longer than a chunk is cut, after blanks where there are any.

    Args:
        content: The file.
        symbols: The symbols of the file; only definitions are used.
        count_tokens: Counts the tokens of a text.
        size: Tokens that a chunk may have.
    """
    definitions = [symbol for symbol in symbols if symbol.role == "definition"]
    starts = {symbol.line for symbol in definitions}
    spans = [span for part in _parts(_lines(content, starts, count_tokens, size), size) if (span := _stripped(part))]
    names = _names([(span[0].number, span[-1].number) for span in spans], definitions)
    return [
        CodeChunk(number, span[0].number, span[-1].number, "\n".join(line.text for line in span), name)
        for number, (span, name) in enumerate(zip(spans, names, strict=True))
    ]


def embedded_text(path: str, symbol: str, text: str) -> str:
    """Return the text that is embedded for a chunk: its path and symbol, then its lines."""
    return f"{path} {symbol}".rstrip() + f"\n{text}"


def _lines(content: str, starts: set[int], count_tokens: Callable[[str], int], size: int) -> list[_Line]:
    lines: list[_Line] = []
    after_blank = False
    for number, whole in enumerate(content.split("\n"), start=1):
        worth = _DEFINITION if number in starts else _AFTER_BLANK if after_blank else _ANYWHERE
        text = whole.rstrip("\r")
        for span in split_text(text, max_tokens=size, estimate=count_tokens) or [TextSpan(0, 0)]:
            part = text[span.start : span.end]
            lines.append(_Line(number, part, count_tokens(part), worth))
            worth = _ANYWHERE
        after_blank = not text.strip()
    return lines


def _parts(lines: Sequence[_Line], size: int) -> list[list[_Line]]:
    parts: list[list[_Line]] = []
    held: list[_Line] = []
    used = 0
    for line in lines:
        while held and used + line.tokens > size:
            cut = len(held) if line.worth == _DEFINITION else _best_break(held)
            parts.append(held[:cut])
            held = held[cut:]
            used = sum(kept.tokens for kept in held)
        if line.worth == _DEFINITION and used * 2 >= size:
            parts.append(held)
            held, used = [], 0
        held.append(line)
        used += line.tokens
    return [*parts, held]


def _best_break(held: Sequence[_Line]) -> int:
    """Choose where a full chunk ends; return the number of lines that stay in it."""
    total, used = sum(line.tokens for line in held), 0
    best, worth = len(held), _ANYWHERE
    for place, line in enumerate(held):
        if place and used * 2 >= total and line.worth >= max(worth, _AFTER_BLANK):
            best, worth = place, line.worth
        used += line.tokens
    return best


def _stripped(part: Sequence[_Line]) -> Sequence[_Line]:
    filled = [place for place, line in enumerate(part) if line.text.strip()]
    return part[filled[0] : filled[-1] + 1] if filled else []


def _names(spans: Sequence[tuple[int, int]], definitions: Sequence[Symbol]) -> Iterator[str]:
    """Name each span after the innermost definition around its first line, or else the first definition inside it."""
    ordered = sorted(definitions, key=lambda symbol: (symbol.line, -symbol.end_line))
    begun: list[Symbol] = []
    place = 0
    for first, last in spans:
        while place < len(ordered) and ordered[place].line <= first:
            begun.append(ordered[place])
            place += 1
        begun = [symbol for symbol in begun if symbol.end_line >= first]
        within = ordered[place : place + 1]
        found = begun[-1:] or [symbol for symbol in within if symbol.line <= last]
        yield "".join(f"{symbol.qualifier}.{symbol.name}".lstrip(".") for symbol in found)
