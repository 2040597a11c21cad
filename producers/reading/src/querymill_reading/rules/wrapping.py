"""What was wrapped becomes one again: words at the ends of lines, and the names of rows in a table."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from querymill_reading.rules.layout import Segment, TextLine
from querymill_reading.rules.tables import is_value

_HYPHEN: Final = re.compile(r"(?:^|[\s(])([^\s(]*[a-zà-ÿ])-$")
#: Words that are written with a hyphen before another, so that the hyphen at the end of a line is theirs.
_KEEP_HYPHEN: Final = frozenset(
    [
        "non", "self", "long", "short", "well", "half", "cross", "high", "low", "full", "first", "second", "third",
        "fourth", "one", "two", "three", "four", "five", "six", "year", "month", "day", "off", "out", "over", "under",
        "all", "mid",
    ]
)  # fmt: skip
_WORDS: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_REST: Final = re.compile(r"[^\W\d_]+")
_MARKS: Final = "\"'“”‘’([{"
#: Letters of a part of a compound, at least, that is known only as a word by itself.
LEAST_PART: Final = 3
#: Where nothing is known of the words of a document.
NO_WORDS: Final[frozenset[str]] = frozenset()
_CJK: Final = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]")
#: Lines of one name are nearer to each other than this share of the usual distance between rows with values.
TIGHT: Final = 0.75
#: The letters of one name are alike in height up to this share.
ALIKE: Final = 0.1
#: Distances between rows with values that must be known before any is called usual.
LEAST_DISTANCES: Final = 2


def joined(above: str, below: str, known: frozenset[str] = NO_WORDS) -> str:
    """Join two lines: a hyphenated word becomes whole, Chinese goes on without a blank.

    "finan-" and "cial" give "financial", but "non-" and "controlling" give "non-controlling", and "year-over-" and
    "year" "year-over-year". ``known`` are the words of the document, as `words_in` gives them: they tell of others.
    """
    if is_cut(above, below) and (cut := _HYPHEN.search(above)):
        keeps = "-" in cut[1] or cut[1].lower() in _KEEP_HYPHEN or _is_compound(cut[1], below, known)
        return (above if keeps else above[:-1]) + below
    if above and below and (_CJK.match(above[-1]) and _CJK.match(below[0])):
        return above + below
    return f"{above} {below}"


def _is_compound(before: str, below: str, known: frozenset[str]) -> bool:
    """Return whether the document says that the hyphen between two parts of a word is the word's own."""
    rest = _REST.match(below)
    if rest is None or not known:
        return False
    first, last = before.lstrip(_MARKS), rest[0]
    if (first + last).casefold() in known:
        return False
    if f"{first}-{last}".casefold() in known:
        return True
    return min(len(first), len(last)) >= LEAST_PART and first.casefold() in known and f"{last} " in known


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of a document, which stand in lines: small, and with a blank behind them as they are written."""
    found: set[str] = set()
    for text in texts:
        words = _WORDS.findall(text)
        # The first may be the rest of a word, the last its beginning.
        whole = words[text[:1].islower() : len(words) - text.endswith("-")]
        found.update(word.casefold() for word in whole)
        found.update(f"{word} " for word in whole)
    return frozenset(found)


def is_cut(above: str, below: str) -> bool:
    """Return whether a line ends within a word that goes on in the next."""
    return below[:1].islower() and _HYPHEN.search(above) is not None


def with_whole_names(lines: Sequence[TextLine], known: frozenset[str] = NO_WORDS) -> list[TextLine]:
    """Join the names of rows that were wrapped, wherever beside them the values stand: at the top, middle or bottom.

    Lines of one name stand close to each other, while rows stand apart. With rows 14 points apart, a name 8 points
    below a row is the rest of that row's name, and one 14 points below is a row or a heading. A table whose rows are as
    near to each other as the lines of a name stays as it is.
    """
    usual = _usual_distance(lines)
    if not usual:
        return list(lines)
    first = next(at for at, line in enumerate(lines) if _has_values(line))
    return [whole for run in _runs(lines, TIGHT * usual) for whole in _whole(run, lines[first].y, known)]


def _usual_distance(lines: Sequence[TextLine]) -> float:
    """Return the usual distance between rows with values that follow each other; 0 if it is not known."""
    distances = [
        below.y - above.y for above, below in pairwise(lines) if _has_values(above) and _has_values(below)
    ]  # fmt: skip
    return median(distances) if len(distances) >= LEAST_DISTANCES else 0.0


def _has_values(line: TextLine) -> bool:
    return len(line.segments) > 1 and any(is_value(segment.text) for segment in line.segments[1:])


def _runs(lines: Sequence[TextLine], tight: float) -> Iterator[list[TextLine]]:
    """Yield the lines that stand close to each other, from the top."""
    run = [lines[0]]
    for above, line in pairwise(lines):
        if not 0 < line.y - above.y < tight:
            yield run
            run = []
        run.append(line)
    yield run


def _whole(run: list[TextLine], first_values: float, known: frozenset[str]) -> list[TextLine]:
    """Return a run as one row, if it is one row with values and the lines of its name."""
    rows = [line for line in run if _has_values(line) or len(line.segments) > 1]
    names = [line for line in run if len(line.segments) == 1]
    if len(run) == 1 or len(rows) != 1 or run[-1].y < first_values or not _has_values(rows[0]):
        return run
    row = rows[0]
    has_name = not is_value(row.segments[0].text) and row.x0 < max(line.x1 for line in names)
    values = row.segments[1:] if has_name else row.segments
    if any(line.x1 > values[0].x0 or abs(line.size - row.size) > ALIKE * row.size for line in names):
        return run
    parts = [line.segments[0] for line in run if line is not row or has_name]
    return [TextLine((_one(parts, row.y, known), *values))]


def _one(parts: Sequence[Segment], y: float, known: frozenset[str]) -> Segment:
    text = parts[0].text
    for part in parts[1:]:
        text = joined(text, part.text, known)
    x0, x1 = min(part.x0 for part in parts), max(part.x1 for part in parts)
    return Segment(text, x0, x1, y, max(part.size for part in parts))
