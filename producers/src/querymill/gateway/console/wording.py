"""How pages write numbers, times and texts. Pure: the same value is written the same way on every page."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup, escape

from querymill.gateway.console.tables import Block, blocks_of
from querymill_reading.reports import ROOT, STAMP

#: Characters that act on the text around them, or that nobody sees: they are shown by their code.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
#: JavaScript and JSON readers round integers beyond this.
EXACT: Final = 2**53
_NONE: Final = "–"
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
#: A part of a name that stays on one line.
_UNBROKEN: Final = re.compile(r"[^\s_./:-]{0,14}[\s_./:-]+|[^\s_./:-]{1,14}")
#: A state is always a sign and a word: colours alone do not tell it.
SIGNS: Final = {
    "queued": "○",
    "waiting": "○",
    "running": "●",
    "done": "✓",
    "complete": "✓",
    "incomplete": "⚠",
    "failed": "✕",
    "dead": "☠",
    "cancelled": "⊘",
    "stopped": "⊘",
    "not_found": "○",
    "refused": "⊘",
}


def plain(text: str) -> str:
    r"""Return a text in which hidden characters are written as their codes.

    >>> plain("a\u202eb")
    'a⟨U+202E⟩b'
    """
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def marked(
    text: str, places: Iterator[tuple[int, int]] | tuple[tuple[int, int], ...], *, is_target: bool = False
) -> Markup:
    """Return a text as HTML with the given places marked: (start, end) in characters, the end exclusive.

    On a page that ``is_target`` of links, the first place has the id "mark".

    This is the only function that makes markup from stored text. Places that overlap are joined.
    """
    pieces, at = [], 0
    for number, (start, end) in enumerate(sorted(places)):
        begin, stop = max(start, at), min(end, len(text))
        if begin >= stop:
            continue
        name = Markup(' id="mark"') if is_target and number == 0 else Markup("")
        pieces += [escape(plain(text[at:begin])), Markup("<mark{}>{}</mark>").format(name, plain(text[begin:stop]))]
        at = stop
    return Markup("").join([*pieces, escape(plain(text[at:]))])


def passage(text: str, places: tuple[tuple[int, int], ...] = (), *, is_target: bool = False) -> Markup:
    """Return a text as HTML with the given places marked, see `marked`; what is written as a table is one."""
    pieces, first = [], min((start for start, end in places if start < end), default=-1)
    for block in blocks_of(text):
        is_here = is_target and block.start <= first < block.end
        if not block.rows:
            pieces.append(_part(text, places, _trimmed(text, block), is_target=is_here))
            continue
        rows = []
        for number, row in enumerate(block.rows):
            cell = _HEADING if block.has_heading and number == 0 else _CELL
            cells = []
            for start, end in row:
                is_in = is_here and first < end
                is_here = is_here and not is_in
                cells.append(cell.format(_part(text, places, (start, end), is_target=is_in)))
            rows.append(Markup("<tr>{}</tr>").format(Markup("").join(cells)))
        pieces.append(_TABLE.format(Markup("").join(rows)))
    return Markup("").join(pieces)


def _trimmed(text: str, block: Block) -> tuple[int, int]:
    """Return the place of a plain part without the empty lines that part it from a table."""
    start, end = block.start, block.end
    while end < len(text) and start < end and text[end - 1] == "\n":
        end -= 1
    while 0 < start < end and text[start] == "\n":
        start += 1
    return start, end


_HEADING, _CELL = Markup("<th>{}</th>"), Markup("<td>{}</td>")
#: What is wider than its column scrolls, also by keys.
_TABLE: Final = Markup(
    '<div class="scroll" tabindex="0" role="region" aria-label="Table">'
    '<table class="cells"><tbody>{}</tbody></table></div>'
)


def _part(text: str, places: tuple[tuple[int, int], ...], part: tuple[int, int], *, is_target: bool) -> Markup:
    begin, stop = part
    here = [place for place in places if place[0] < stop and place[1] > begin]
    within = tuple((max(start, begin) - begin, min(end, stop) - begin) for start, end in here)
    return marked(text[begin:stop], within, is_target=is_target)


def finish(value: Any) -> Any:
    """Make a value fit for a page: no hidden character, no number that a reader would round."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def count(number: float | None) -> str:
    """Write a number of things: 1,284."""
    return _NONE if number is None else f"{number:,.0f}"


def duration(seconds: float | None) -> str:
    """Write a length of time.

    >>> [duration(s) for s in (0.012, 0.31, 41, 130, 3780, 200_000)]
    ['12 ms', '0.31 s', '41 s', '2 min 10 s', '1 h 3 min', '2 d 7 h']
    """
    if seconds is None:
        return _NONE
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for unit, size, smaller, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def age(seconds: float) -> str:
    """Write how long ago something was, to the unit: 41 s, 12 min, 3 h, 2 d."""
    length, unit = next(((length, unit) for length, unit in _UNITS if round(seconds) >= length), (1, "s"))
    return f"{round(seconds) // length} {unit}"


def size(number: int) -> str:
    """Write a number of bytes, in kB or MB of 1000."""
    if number < 1_000:
        return f"{number} B"
    return f"{number / 1_000:.1f} kB" if number < 1_000_000 else f"{number / 1_000_000:.1f} MB"


def score(value: float | None) -> str:
    """Write a score with no more digits than it has: 0.912, 12.4, 0.02036."""
    return _NONE if value is None else f"{value:.5f}".rstrip("0").rstrip(".") if abs(value) < 1 else f"{value:,.4g}"


def iso(seconds: float) -> str:
    """Write a time for machines: 2026-03-01T09:00:00.204Z."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def clock(seconds: float) -> str:
    """Write a time for people, in UTC: 2026-03-01 09:00:00.204 UTC."""
    return iso(seconds).replace("T", " ").replace("Z", " UTC")


def moment(written: str) -> str:
    """Write a time that was written for machines for people, in UTC; what is no time stays as it is.

    >>> moment("2026-01-23T18:19:55.590000+01:00")
    '2026-01-23 17:19:55 UTC'
    """
    try:
        read = datetime.fromisoformat(written)
    except ValueError:
        return written
    return f"{read.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if read.tzinfo else written


def short(text: str, limit: int = 80) -> str:
    """Return the first characters of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def breakable(name: str) -> Markup:
    """Return a name that may be broken after its signs, and where it has none after 14 characters.

    >>> breakable("ingest_reports")
    Markup('ingest_<wbr>reports')
    """
    return Markup("<wbr>").join(_UNBROKEN.findall(plain(name)))


def shown_metadata(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a document that tells a person something: not by which its file is found again."""
    return {
        name: value for name, value in document.items() if name not in (ROOT, STAMP) and value not in (None, "", [])
    }


def sign(state: str) -> str:
    """Return the sign of a state."""
    return SIGNS.get(state, "·")


def language(text: str) -> str:
    """Return the language that a text is in, as far as its script tells; "" for all that is not Chinese."""
    return "zh" if any("CJK" in unicodedata.name(character, "") for character in text[:200]) else ""
