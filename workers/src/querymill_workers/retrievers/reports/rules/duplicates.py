"""Passages that say the same: pages that reports repeat count once in a ranking."""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeVar

from querymill_workers.text.words import words

Key = TypeVar("Key", bound=Hashable)

#: Texts are near duplicates if they share this part of all their runs of three words.
ALIKE: Final = 0.9
RUN: Final = 3
#: Lines at the top of a page that may name its report, and the words below them that make a text long.
TOP_LINES: Final = 2
LONG: Final = 30
# What a table or a sentence states: a number with a decimal or a separator, a percentage, or one of five digits.
# Without going back into a number: pages are full of numbers, and every hit is read.
_FIGURE: Final = re.compile(r"[0-9]++(?:(?:[.,][0-9]++)+|(?=\s?%)|(?<=[0-9]{5}))")


@dataclass(frozen=True)
class Print:
    """What a text is compared by: its figures and its runs of words."""

    text: str

    @cached_property
    def first_figure(self) -> str:
        """One of its figures, or "" if it has none."""
        found = _FIGURE.search(self.text)
        return "" if found is None else found[0]

    @cached_property
    def figures(self) -> frozenset[str]:
        """What the text states in numbers."""
        return frozenset(_FIGURE.findall(self.text))

    @cached_property
    def runs(self) -> frozenset[tuple[str, ...]]:
        """The runs of three words. Of a long text, the two lines at its top are left out: they name the report."""
        body = words("\n".join([line for line in self.text.splitlines() if line.strip()][TOP_LINES:]))
        found = body if len(body) >= LONG else words(self.text)
        return frozenset(tuple(found[start : start + RUN]) for start in range(max(len(found) - RUN + 1, 1)))

    def is_near(self, other: "Print") -> bool:
        """Return whether two texts say the same.

        They have the same figures, and share nine tenths of their runs of three words (Jaccard). So the same page with
        another page number or year at its top is a duplicate, and the same table with other figures is not.
        """
        # Most pages have figures of their own, and to read all figures or all words of a page takes far longer.
        if self.first_figure not in other.text or other.first_figure not in self.text or self.figures != other.figures:
            return False
        few, many = sorted((len(self.runs), len(other.runs)))
        if few < ALIKE * many:
            return False
        shared = len(self.runs & other.runs)
        return shared >= ALIKE * (few + many - shared)


@dataclass(slots=True)
class Unlike(Generic[Key]):
    """Keeps the first of texts that say the same. ``alike`` has the later ones under the key of the first."""

    kept: dict[Key, Print]
    alike: dict[Key, list[Key]]

    @classmethod
    def of(cls, texts: Iterable[tuple[Key, str]] = ()) -> "Unlike[Key]":
        """Sort out texts, best first."""
        new: Unlike[Key] = cls({}, {})
        for key, text in texts:
            new.take(key, text)
        return new

    def take(self, key: Key, text: str) -> bool:
        """Keep a text, or note it under the one that says the same. Return whether it is kept."""
        own = Print(text)
        for known, other in self.kept.items():
            if own.is_near(other):
                self.alike.setdefault(known, []).append(key)
                return False
        self.kept[key] = own
        return True
