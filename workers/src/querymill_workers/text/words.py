"""Split a text into the words that BM25 counts, for documents and queries alike."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from querymill_workers.text.lexicon import EVERY, listed
from querymill_workers.text.stemming import stem

#: Raised whenever a text would give other words, as with another list of function words. An index of another version
#: must be rebuilt.
WORDS_VERSION: Final = 1

_MAX_WORD_CHARS: Final = 64
# Letters, marks and digits of the scripts that put blanks between words: Latin to Georgian, and accented Latin and
# Greek. They are chosen by category, because the same ranges hold the punctuation of these scripts.
_SPACED: Final = "".join(
    character
    for character in map(chr, (*range(0x30, 0x1100), *range(0x1E00, 0x2000)))
    if unicodedata.category(character)[0] in "LMN"
)
_UNSPACED: Final = "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30fa\u30fc-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(f"(?P<spaced>[{_SPACED}]+(?:(?:\\.|_+)[{_SPACED}]+)*)|[{_UNSPACED}]+")
_JOINT: Final = re.compile("[._]+")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
# The parts of a name, by character class: U is a capital, d a digit, l any other letter.
_PART: Final = re.compile("U+(?!l)|U?l+|d+")
# English function words, and the parts around their apostrophes. They say nothing about the topic of a text.
_FUNCTION_WORDS: Final = frozenset(listed("function_words", "stop", EVERY))


def words(text: str) -> list[str]:
    """Return the words of a text in order, repetitions included.

    The text is normalised (NFKC) and case-folded. English words are reduced to their stems, and English function
    words are left out. An identifier (camelCase, snake_case, dotted) counts as a whole and in each of its parts:
    ``vtk.coneSource`` gives ``vtk.conesource``, ``vtk``, ``conesource``, ``cone`` and ``sourc``. Scripts without
    blanks (Chinese, Japanese, Korean) give every pair of adjacent characters: 渲染器 gives 渲染 and 染器. A single
    character gives itself.

    Args:
        text: Any text. Characters other than letters and digits separate words.

    Returns:
        Words of at most 64 characters. Longer words are cut.
    """
    found: list[str] = []
    for run in _RUN.finditer(unicodedata.normalize("NFKC", text)):
        found.extend(_of_spaced(run[0]) if run["spaced"] else _pairs(run[0]))
    return found


def places(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield where the words of a text are: start, end, and the words there.

    An identifier and all its parts share one place. Letters that become words only by normalisation (full width)
    are not found.
    """
    for run in _RUN.finditer(text):
        if run["spaced"]:
            yield run.start(), run.end(), list(_of_spaced(run[0])) if run[0].isascii() else words(run[0])
        else:
            for offset, pair in enumerate(_pairs(run[0])):
                start = run.start() + offset
                yield start, start + len(pair), words(pair)


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]


def _of_spaced(run: str) -> Iterable[str]:
    return _of_short(run) if len(run) <= _MAX_WORD_CHARS else _of_identifier(run)


@lru_cache(maxsize=65_536)
def _of_short(run: str) -> tuple[str, ...]:
    return tuple(_of_identifier(run))


def _of_identifier(run: str) -> Iterator[str]:
    whole = run.casefold()[:_MAX_WORD_CHARS]
    if _NUMBER.fullmatch(run):
        yield whole
        return
    names = _JOINT.split(run)
    if len(names) > 1:
        yield whole
    for name in names:
        parts = _parts(name)
        if len(parts) > 1:
            yield name.casefold()[:_MAX_WORD_CHARS]
        # Single characters of identifiers (x, 2) occur in too many others to be worth indexing.
        alone = len(names) == len(parts) == 1
        for word in (part.casefold() for part in parts if alone or len(part) > 1):
            if word not in _FUNCTION_WORDS:
                yield stem(word)[:_MAX_WORD_CHARS]


def _parts(name: str) -> list[str]:
    if name.islower() and name.isalpha():
        return [name]
    kinds = "".join("U" if letter.isupper() else "d" if letter.isdigit() else "l" for letter in name)
    return [name[part.start() : part.end()] for part in _PART.finditer(kinds)]
