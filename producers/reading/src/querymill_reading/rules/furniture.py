"""What repeats at the top and bottom of pages: headers, footers, page numbers. It is taken out of the text."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final

#: Lines at the top and at the bottom of a page that are looked at.
LOOKED_AT: Final = 3
#: A line repeats if it is on so many pages, and on this share of them. Even and odd pages may have lines of their own.
LEAST_PAGES: Final = 3
LEAST_SHARE: Final = 0.3
#: Of the pages with a line, the share on which its number is one more than on the one before.
LEAST_COUNTED: Final = 0.75
#: Numbers of a line that are looked at, and digits of one.
MAX_NUMBERS: Final = 12
MAX_DIGITS: Final = 9
#: The letters of a line that repeat, at least, and their share of it, where one word with a number changes anyhow.
LEAST_SAME: Final = 40
SAME: Final = 0.75
_NUMBER: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"\S+")
_PAGE_NUMBER: Final = re.compile(
    r"(?:page|p\.|第|seite)?\s*[-–—]?\s*(?P<label>\d{1,4}|[ivxl]{1,6}|[A-Z]-?\d{1,3})\s*[-–—]?\s*(?:(?:of|/|von|页，?共)\s*\d{1,4}\s*页?)?页?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The numbers of the lines of a page that stay, and the number that was printed on the page, if there was one."""

    kept: tuple[int, ...]
    label: str


def without_furniture(pages: Sequence[Sequence[str]]) -> list[Cleaned]:
    """Find the lines of each page that belong to it alone.

    A line at the edge of a page that is, but for a number that counts with the pages, at the edge of many pages is left
    out, except on the first page, which keeps all but its number. A line whose other numbers change says something:
    "Exhibit 7 (Cont. 2)" stays. A line that is nothing but a number is left out if most pages have one.
    Where this would leave nothing of most pages, such as cards of a few lines, all of it is their text.
    """
    repeated = _repeated(pages)
    numbered = sum(any(_PAGE_NUMBER.fullmatch(page[at]) for at in edges(page)) for page in pages)
    has_numbers = numbered >= max(LEAST_PAGES, len(pages) / 2)
    cleaned = [
        _cleaned(page, repeated if number else set(), has_numbers=has_numbers) for number, page in enumerate(pages)
    ]
    filled = sum(map(bool, pages))
    if 2 * sum(bool(clean.kept) for clean in cleaned) <= filled:
        return [Cleaned(tuple(range(len(page))), clean.label) for page, clean in zip(pages, cleaned, strict=True)]
    return cleaned


def edges(page: Sequence[str]) -> list[int]:
    """Return the numbers of the lines at the top and at the bottom of a page."""
    return [at for at in range(len(page)) if at < LOOKED_AT or at >= len(page) - LOOKED_AT]


def masks(line: str) -> dict[str, int | None]:
    """Return what a line may repeat: itself, or itself with a sign for one of its numbers, and that number.

    A long line may repeat itself but for one word, such as the number of a section.

    >>> masks("Page 3 of 40")
    {'page 3 of 40': None, 'page # of 40': 3, 'page 3 of #': 40}
    """
    plain = " ".join(line.split()).casefold()
    found: dict[str, int | None] = {plain: None}
    numbers = (each for each in _NUMBER.finditer(plain) if len(each[0]) <= MAX_DIGITS)
    for each in islice(numbers, MAX_NUMBERS):
        found[f"{plain[: each.start()]}#{plain[each.end() :]}"] = int(each[0])
        found[re.sub(rf"(?<!\d){each[0]}(?!\d)", "#", plain)] = int(each[0])
    for mask, number in list(found.items()) if len(plain) >= LEAST_SAME else ():
        with_number = (word for word in _WORD.finditer(mask) if _NUMBER.search(word[0]))
        for each in islice(with_number, MAX_NUMBERS):
            rest = f"{mask[: each.start()]}\N{SECTION SIGN}{mask[each.end() :]}"
            if len(rest) >= max(LEAST_SAME, SAME * len(plain)):
                found.setdefault(rest, number)
    return found


def _repeated(pages: Sequence[Sequence[str]]) -> set[str]:
    """Return the lines, as `masks` writes them, that many pages have."""
    places: dict[str, dict[int, int | None]] = defaultdict(dict)
    for at, page in enumerate(pages):
        for line in edges(page):
            for mask, number in masks(page[line]).items():
                places[mask].setdefault(at, number)
    many = max(LEAST_PAGES, LEAST_SHARE * len(pages))
    return {mask for mask, numbers in places.items() if len(numbers) >= many and _counts(numbers)}


def _counts(numbers: Mapping[int, int | None]) -> bool:
    """Return whether numbers on pages grow with these, by one a page or by two where a page shows two."""
    steps = [
        (later - number, below - at)
        for (at, number), (below, later) in pairwise(numbers.items())
        if number is not None and later is not None
    ]
    return not steps or any(
        sum(grown == per_page * step for grown, step in steps) >= LEAST_COUNTED * len(steps) for per_page in (1, 2)
    )


def _cleaned(page: Sequence[str], repeated: set[str], *, has_numbers: bool) -> Cleaned:
    out: set[int] = set()
    label = ""
    for at in edges(page):
        number = _PAGE_NUMBER.fullmatch(page[at].strip())
        if number and has_numbers:
            out.add(at)
            label = number["label"]
        elif not repeated.isdisjoint(masks(page[at])):
            out.add(at)
    return Cleaned(tuple(at for at in range(len(page)) if at not in out), label)
