"""The lines of a definition that are shown: all of a short one, the head and what matches of a long one."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.files.rules.intent import Lines

#: Definitions in an excerpt, and the share of the best one's score that each of them must have.
MAX_PARTS: Final = 3
MIN_SHARE: Final = 0.5
#: A definition of so many lines is shown whole.
WHOLE: Final = 60
#: Lines of the head of a longer one, and lines shown before and after each line that matches.
HEAD, BEFORE, AFTER = 24, 4, 10

_OPENING: Final = re.compile(r"[(\[{]")
_CLOSING: Final = re.compile(r"[)\]}]")


def shown_lines(own: Sequence[Lines], matching: Collection[int], lines: Sequence[str]) -> list[Lines]:
    """Choose the lines of a definition to show, in order and without overlap, cut at statement borders.

    Args:
        own: The lines of the definition that are in no definition inside it.
        matching: The lines that have a word of the request.
        lines: The lines of the file.
    """
    if sum(last - first + 1 for first, last in own) <= WHOLE:
        return [kept for part in own if (kept := _without_blank_ends(part, lines)) is not None]
    chosen: list[Lines] = []
    for part in own:
        borders = statement_borders(part, lines)
        wanted = [(part[0], part[0] + HEAD - 1)] if part == own[0] else []
        wanted += [(line - BEFORE, line + AFTER) for line in sorted(matching) if part[0] <= line <= part[1]]
        chosen += [_to_borders((max(first, part[0]), min(last, part[1])), borders, part) for first, last in wanted]
    return without_overlap(chosen)


def excerpt(parts: Sequence[tuple[Sequence[Lines], float]]) -> list[Lines]:
    """Choose the lines of a file that a result names: its best definition and up to two that score half as much.

    Args:
        parts: The lines of each definition and its score, best first.

    Returns:
        Lines in the order of the file, without overlap; [] for a file with none of the words.
    """
    chosen: list[Lines] = []
    for lines, score in parts[:MAX_PARTS]:
        if score >= MIN_SHARE * parts[0][1]:
            chosen += lines
    return without_overlap(chosen)


def without_overlap(spans: Iterable[Lines]) -> list[Lines]:
    """Sort spans of lines and join those that touch or overlap."""
    found: list[Lines] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def statement_borders(part: Lines, lines: Sequence[str]) -> list[int]:
    """List the lines before which a part may be cut: those that begin a statement, outside of any bracket."""
    return list(_borders(part, lines))


def _borders(part: Lines, lines: Sequence[str]) -> Iterator[int]:
    depth = 0
    for number in range(part[0], part[1] + 1):
        text = lines[number - 1]
        bare = text.strip()
        if depth <= 0 and bare and not _CLOSING.match(bare):
            yield number
        # A brace at the end of a line opens a block, whose lines are statements.
        depth += len(_OPENING.findall(bare.removesuffix("{"))) - len(_CLOSING.findall(bare))
        depth = max(depth, 0)


def _to_borders(wanted: Lines, borders: Sequence[int], part: Lines) -> Lines:
    first = max((border for border in borders if border <= wanted[0]), default=part[0])
    last = min((border - 1 for border in borders if border > wanted[1]), default=part[1])
    return first, last


def _without_blank_ends(part: Lines, lines: Sequence[str]) -> Lines | None:
    filled = [number for number in range(part[0], part[1] + 1) if lines[number - 1].strip()]
    return (filled[0], filled[-1]) if filled else None
