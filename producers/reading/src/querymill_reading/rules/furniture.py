"""What repeats at the top and bottom of pages: headers, footers, page numbers. It is taken out of the text."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: Lines at the top and at the bottom of a page that are looked at.
LOOKED_AT: Final = 3
#: A line repeats if it is on so many pages, and on this share of them. Even and odd pages may have lines of their own.
LEAST_PAGES: Final = 3
LEAST_SHARE: Final = 0.3
_NUMBER: Final = re.compile(r"\d+")
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

    A line at the edge of a page that is, but for its digits, at the edge of many pages is left out, except on the
    first page, which keeps all but its number. A line that is nothing but a number is left out if most pages have one.
    Where this would leave nothing of most pages, such as cards of a few lines, all of it is their text.
    """
    seen = Counter(pattern for page in pages for pattern in {masked(page[at]) for at in edges(page)})
    many = max(LEAST_PAGES, LEAST_SHARE * len(pages))
    repeated = {pattern for pattern, times in seen.items() if times >= many}
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


def masked(line: str) -> str:
    """Return a line with a sign for each number."""
    return _NUMBER.sub("#", " ".join(line.split()).casefold())


def _cleaned(page: Sequence[str], repeated: set[str], *, has_numbers: bool) -> Cleaned:
    out: set[int] = set()
    label = ""
    for at in edges(page):
        number = _PAGE_NUMBER.fullmatch(page[at].strip())
        if number and has_numbers:
            out.add(at)
            label = number["label"]
        elif masked(page[at]) in repeated:
            out.add(at)
    return Cleaned(tuple(at for at in range(len(page)) if at not in out), label)
