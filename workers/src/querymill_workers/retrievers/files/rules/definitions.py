"""The definitions of a file as passages of their own: where each is, and how well its words match the request."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.cells import begins_cell
from querymill_workers.retrievers.files.rules.code import Symbol, code_text, lines_of
from querymill_workers.retrievers.files.rules.intent import Intent, Lines, words_of_lines
from querymill_workers.text.bm25 import saturation
from querymill_workers.text.words import words

#: Weights of a definition's fields: its own name, what encloses it, its lines.
NAME, ENCLOSING, BODY = 3, 1, 1
K1: Final = 0.9
B: Final = 0.5
#: Characters of an average definition, without indentation. A constant, so that a score depends on nothing but the file
#: and the request.
AVERAGE_CHARS: Final = 600
#: A file counts this many of its best definitions, each half as much as the one before.
COUNTED: Final = 8
#: A function of so many lines is shown with the functions in it; those in a longer one are definitions of their own.
WITH_ITS_PARTS: Final = 60
#: Lines outside of all definitions are cut into pieces of at most so many lines.
PIECE: Final = 40

_CLASSES: Final = frozenset({"class", "struct", "interface", "trait", "enum"})
_FUNCTIONS: Final = frozenset({"function", "method"})
_ABOVE: Final = re.compile(r"\s*(?:@|#|//|/\*|\*)")


@value
class Definition:
    """A definition, or a piece of a file that is outside of all (its name is "").

    ``lines`` are all its lines; ``own`` are those that are in no definition inside it.
    """

    name: str
    enclosing: str
    kind: str
    lines: Lines
    own: tuple[Lines, ...]

    @property
    def label(self) -> str:
        """The name with what encloses it, such as ``QoS.restore``."""
        return f"{self.enclosing}.{self.name}".strip(".")


@value
class ScoredDefinition:
    """A definition, its BM25 score for the request as a share of the intent's whole weight, and what matches.

    ``words`` are the words of the request that it has, ``matching`` the lines that have one.
    """

    definition: Definition
    score: float
    words: frozenset[str]
    matching: Sequence[int]


def definitions_of(content: str, symbols: Sequence[Symbol]) -> list[Definition]:
    """Divide a file into its definitions and what is outside of them, in the order of their lines.

    A function inside a function of up to 60 lines is a part of it.
    """
    lines = lines_of(content)
    kept: list[Symbol] = []
    around: list[Symbol] = []
    found = [symbol for symbol in symbols if symbol.role == "definition" and _is_shown(symbol)]
    for symbol in sorted(found, key=lambda symbol: (symbol.line, -symbol.end_line)):
        while around and around[-1].end_line < symbol.line:
            around.pop()
        if around and not _divides(around[-1]):
            continue
        kept.append(symbol)
        around.append(symbol)
    spans = [(_first_line(symbol, lines), min(symbol.end_line, len(lines))) for symbol in kept]
    inside = [[other for other in spans if _holds(span, other)] for span in spans]
    whole = [
        Definition(symbol.name, symbol.qualifier, symbol.kind, span, tuple(_outside(span, nested)))
        for symbol, span, nested in zip(kept, spans, inside, strict=True)
    ]
    pieces = [
        Definition("", "", "", piece, (piece,))
        for gap in _outside((1, len(lines)), spans)
        for piece in _pieces(gap, lines)
    ]
    return sorted([*whole, *pieces], key=lambda definition: (definition.lines[0], -definition.lines[1]))


def scored_definitions(intent: Intent, content: str, definitions: Sequence[Definition]) -> list[ScoredDefinition]:
    """Score definitions by BM25 over their name (3), what encloses them (1) and their own lines (1), best first.

    The words weigh as in the intent: occurrences in the request × rarity in the collection. Definitions without a word
    of the request score 0. Worked example: the request "limit task" weighs 2 and 1. A definition ``limit`` of
    600 characters with *task* twice scores (2 × 4 / (4 + 0.9) + 1 × 2 / (2 + 0.9)) / 3 = 0.774 if its lines have
    *limit* once.
    """
    lines = lines_of(content)
    held = words_of_lines(intent, lines)
    until = [0, *accumulate(len(line.strip()) for line in lines)]
    whole = intent.whole
    scored = []
    for definition in definitions:
        counts: dict[str, float] = defaultdict(float)
        matching = [line for first, last in definition.own for line in range(first, last + 1) if line in held]
        for line in matching:
            for counted, share in map(intent.counted, held[line]):
                counts[counted] += share
        for text, weight in ((definition.name, NAME), (definition.enclosing, ENCLOSING)):
            for counted, share in map(intent.counted, _words_of_name(text) if text else ()):
                counts[counted] += share * weight
        length = sum(until[last] - until[first - 1] for first, last in definition.own)
        total = sum(
            weight * saturation(counts[word], length, AVERAGE_CHARS, k1=K1, b=B)
            for word, weight in intent.weights.items()
            if counts[word]
        )
        total_share = total / whole if whole > 0 else 0.0
        scored.append(
            ScoredDefinition(definition, total_share, frozenset(word for word in counts if counts[word]), matching)
        )
    return sorted(scored, key=lambda found_one: (-found_one.score, found_one.definition.lines))


def lifted(
    scored: Sequence[ScoredDefinition], *, gains: Mapping[str, float], lines: Collection[int], gain: float = 1.0
) -> list[ScoredDefinition]:
    """Add to the scores of definitions that were asked for by name, or that hold a line; leave out those that score 0.

    Args:
        scored: The definitions of a file.
        gains: What the definitions of each name gain.
        lines: Lines of the file; of the definitions around one only the innermost is meant.
        gain: What a definition around a line gains.
    """
    meant = {
        min(around, key=lambda found_one: (_size(found_one), found_one.definition.lines)).definition
        for line in lines
        if (around := [found_one for found_one in scored if _covers(found_one, line)])
    }
    found = [
        replace(
            found_one,
            score=found_one.score + gains.get(found_one.definition.name, 0.0) + gain * (found_one.definition in meant),
        )
        for found_one in scored
    ]
    return sorted(
        (found_one for found_one in found if found_one.score > 0),
        key=lambda found_one: (-found_one.score, found_one.definition.lines),
    )


def score_of_file(scores: Iterable[float]) -> float:
    """Add up the scores of the best 8 definitions, each half as much as the one before: 0.8 and 0.4 give 1.0."""
    best = sorted(scores, reverse=True)[:COUNTED]
    return sum(score * 0.5**place for place, score in enumerate(best))


def _covers(found_one: ScoredDefinition, line: int) -> bool:
    return found_one.definition.lines[0] <= line <= found_one.definition.lines[1]


def _size(found_one: ScoredDefinition) -> int:
    return found_one.definition.lines[1] - found_one.definition.lines[0]


def _words_of_name(name: str) -> list[str]:
    return words(code_text(name))


def _is_shown(symbol: Symbol) -> bool:
    return symbol.kind in _CLASSES or symbol.kind in _FUNCTIONS or symbol.end_line - symbol.line >= 2


def _divides(symbol: Symbol) -> bool:
    return symbol.kind in _CLASSES or symbol.end_line - symbol.line >= WITH_ITS_PARTS


def _first_line(symbol: Symbol, lines: Sequence[str]) -> int:
    """Return the first line of a definition with the decorators and comments directly above it."""
    first = symbol.line
    while first > 1 and _ABOVE.match(lines[first - 2]) is not None:
        first -= 1
    return first


def _holds(span: Lines, other: Lines) -> bool:
    return other != span and span[0] <= other[0] and other[1] <= span[1]


def _outside(span: Lines, inside: Sequence[Lines]) -> list[Lines]:
    """Return the lines of a span that no span inside it holds."""
    free: list[Lines] = []
    start = span[0]
    for first, last in sorted(inside):
        if first > start:
            free.append((start, first - 1))
        start = max(start, last + 1)
    return [*free, (start, span[1])] if start <= span[1] else free


def _pieces(span: Lines, lines: Sequence[str]) -> list[Lines]:
    """Cut lines at blank lines into pieces of up to 40 lines, and before each cell of a notebook.

    Blank lines at the ends are left out.
    """
    pieces: list[Lines] = []
    numbered = range(span[0], span[1] + 1)
    part_of = dict(zip(numbered, accumulate(begins_cell(lines[number - 1]) for number in numbered), strict=True))
    for (_, is_blank), group in groupby(numbered, key=lambda number: (part_of[number], not lines[number - 1].strip())):
        numbers = list(group)
        if is_blank:
            continue
        first, last = numbers[0], numbers[-1]
        if pieces and last - pieces[-1][0] < PIECE and not begins_cell(lines[first - 1]):
            pieces[-1] = (pieces[-1][0], last)
            continue
        pieces += [(start, min(start + PIECE - 1, last)) for start in range(first, last + 1, PIECE)]
    return pieces
