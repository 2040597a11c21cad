"""The vocabulary of technical terms, which measures the depth of a session."""

import re
from collections.abc import Sequence
from typing import Final

import ahocorasick_rs

from querymill_workers.text.lexicon import listed

#: Terms that are everyday words too: they count only in a line with code or another term.
EVERYDAY: Final = frozenset(listed("technical_terms", "everyday", "conversations"))
#: The built-in vocabulary; a setting can replace it.
TECHNICAL_KEYWORDS: Final = (*listed("technical_terms", "technical", "conversations"), *EVERYDAY)
_CODE: Final = re.compile(
    r"`|\(\)|[{};]|->|=>|::|[a-z0-9]_[a-z0-9]|[a-z][A-Z]|[A-Za-z0-9_]\.(?:py|js|ts|tsx|go|rs|java|c|cpp|h|rb|php|sh|sql|md"
    r"|json|ya?ml|toml|html|css|log|txt)(?![A-Za-z0-9])|(?:^|\s)(?:\./|/[a-z]+/|--?[a-z])"
)
#: Shorter terms have no plural.
_SHORTEST_PLURAL: Final = 3


class TechnicalKeywords:
    """A vocabulary that finds its terms in texts. Decided: Latin terms match whole words, others match substrings.

    Any character other than an ASCII letter or digit ends a word, so a Chinese neighbour does too. The plural of an
    English term is that term. An everyday word counts only in a line with code, or with a term that is none.
    """

    def __init__(self, terms: Sequence[str] = TECHNICAL_KEYWORDS) -> None:
        self._terms = sorted({term.lower() for term in terms if term.strip()})
        written = {plural: term for term in self._terms for plural in _plurals(term)} | {
            term: term for term in self._terms
        }
        self._read_as = list(written.values())
        self._found = ahocorasick_rs.AhoCorasick(list(written))

    @property
    def terms(self) -> Sequence[str]:
        """The terms in lower case, sorted, without duplicates."""
        return self._terms

    def of(self, text: str) -> set[str]:
        """Return the terms that occur in a text, ignoring case. Terms may overlap.

        What a text has is what its lines have, so the terms of two texts are those of both.
        """
        return {term for line in text.splitlines() for term in self._of_line(line)}

    def _of_line(self, line: str) -> set[str]:
        lower = line.lower()
        matches = self._found.find_matches_as_indexes(lower, overlapping=True)
        found = {self._read_as[number] for number, start, end in matches if _stands_alone(lower, start, end)}
        everyday = found & EVERYDAY
        return found - everyday if everyday == found and not _CODE.search(line) else found


def _plurals(term: str) -> list[str]:
    """Return the regular plurals of an English term.

    Worked example: query gives queries, class gives classes, and thread gives threads.
    """
    if len(term) < _SHORTEST_PLURAL or not (term.isascii() and term[-1].isalpha()):
        return []
    if term.endswith(("s", "x", "z", "ch", "sh")):
        return [f"{term}es", "indices"] if term == "index" else [f"{term}es"]
    return [f"{term[:-1]}ies"] if term.endswith("y") and term[-2] not in "aeiou" else [f"{term}s"]


def _stands_alone(text: str, start: int, end: int) -> bool:
    begins = not _is_latin(text[start]) or start == 0 or not _is_latin(text[start - 1])
    return begins and (not _is_latin(text[end - 1]) or end == len(text) or not _is_latin(text[end]))


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()
