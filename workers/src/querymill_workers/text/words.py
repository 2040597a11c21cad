"""Split a text into the words that BM25 counts, for documents and queries alike."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from querymill_workers.text.folding import fold, folded_atoms
from querymill_workers.text.lexicon import EVERY, listed
from querymill_workers.text.scripts import (
    ARABIC,
    CLUSTER_MARKS,
    CLUSTERED,
    EAST_ASIAN,
    EMOJI,
    SPACED,
    SPACED_BEYOND,
    STACKERS,
    SYMBOLS,
)
from querymill_workers.text.shapes import JOINTS, forms_of, number_of, pieces_of, shorter, versions_in
from querymill_workers.text.stemming import stem

#: Raised whenever a text would give other words, as with another list of function words. An index of another version
#: must be rebuilt.
WORDS_VERSION: Final = 2
#: What this version reads differently from the one before, for those who rebuild their indexes.
WORDS_CHANGES: Final = (
    "words of Thai, Lao, Khmer and Burmese are found within a line; every script has words; numbers have no "
    "separators; C#, .NET, --flags, paths, dates and emoji are words; soft hyphens, marks without a width, vowel "
    "points, variants of Arabic letters and digits of other scripts no longer tell words apart"
)

_MAX_WORD_CHARS: Final = 64
#: The words of runs of at most so many characters are kept.
_MAX_KEPT_CHARS: Final = 128
_TONES: Final = "\U0001f3fb-\U0001f3ff"
_ONE_EMOJI: Final = f"(?:[{EMOJI}]\ufe0f?|[{SYMBOLS}]\ufe0f)[{_TONES}]?"
_PICTURE: Final = f"[\U0001f1e6-\U0001f1ff]{{2}}|{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*[\U000e0020-\U000e007f]*"
# Between digits, commas and apostrophes are parts of a number.
_IN_NUMBER: Final = "[,'](?<=[0-9].)(?=[0-9])"
_ASCII: Final = f"0-9A-Za-z{JOINTS}"
_ASCII_RUN: Final = re.compile(f"[{_ASCII}]+(?:{_IN_NUMBER}[{_ASCII}]+)*")
_SPACED_RUN: Final = f"[{SPACED}\u200c{JOINTS}]+(?:{_IN_NUMBER}[{SPACED}{JOINTS}]+)*"
_RUN: Final = re.compile(
    f"(?P<spaced>{_SPACED_RUN})|(?=[^\\x00-\x7f])(?:(?P<pairs>[{EAST_ASIAN}]+)|(?P<clusters>[{CLUSTERED}]+)"
    f"|(?P<beyond>[{SPACED_BEYOND}]+)|(?P<picture>{_PICTURE}))"
)
# What the words of stand for no part of: numbers with separators, Persian parts with a joiner, and emoji.
_SEPARATED: Final = "(?<![0-9])[0-9]++(?:[.,'_][0-9]++)++"
_RESPELLED_ASCII: Final = re.compile(_SEPARATED)
_RESPELLED: Final = re.compile(f"{_SEPARATED}|[{ARABIC}]+(?:\u200c[{ARABIC}]+)+|(?=[^\\x00-\x7f])(?:{_PICTURE})")
_EMOJI_DETAIL: Final = re.compile(f"[\ufe0f{_TONES}]")
_CLUSTER: Final = re.compile(f"[{CLUSTER_MARKS}]+|[{CLUSTERED}](?:[{CLUSTER_MARKS}]|(?<=[{STACKERS}])[{CLUSTERED}])*")
_JOINT: Final = re.compile("[._\u200c]+")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
# The parts of a name, by character class: U is a capital, d a digit, l any other letter.
_PART: Final = re.compile("U+(?!l)|U?l+|d+")
# English function words, and the parts around their apostrophes. They say nothing about the topic of a text.
_FUNCTION_WORDS: Final = frozenset(listed("function_words", "stop", EVERY))

_Found = tuple[int, int, tuple[str, ...]]


def words(text: str) -> list[str]:
    """Return the words of a text in order, repetitions included.

    The text is folded (`fold`) and case-folded. English words are reduced to their stems, and English function words
    are left out. An identifier (camelCase, snake_case, dotted) counts as a whole and in each of its parts:
    ``vtk.coneSource`` gives ``vtk.conesource``, ``vtk``, ``conesource``, ``cone`` and ``sourc``. So do paths, dates,
    versions, and names with marks (`forms_of`): ``C#`` gives ``c#`` and ``c``. A number has no separators: 1,234.5 and
    1'234,5 give ``1234.5``.

    Scripts without blanks give every pair of neighbours. Chinese, Japanese and Korean have pairs of characters: 渲染器
    gives 渲染 and 染器. Thai, Lao, Khmer and Burmese have pairs of letters with their marks, and each such letter. A
    single character gives itself. An emoji is a word, and so is what it is made of without its skin tone.

    Args:
        text: Any text. Characters other than letters, digits and emoji separate words.

    Returns:
        Words of at most 64 characters. Longer words are cut.
    """
    found: list[str] = []
    if text.isascii():
        for run in _ASCII_RUN.findall(text):
            found += _of_short(run) if len(run) <= _MAX_KEPT_CHARS else _of_run(run)
        return found
    for match in _RUN.finditer(fold(text)):
        kind, run = match.lastgroup, match[0]
        if kind == "spaced":
            found += _of_short(run) if len(run) <= _MAX_KEPT_CHARS else _of_run(run)
        elif kind == "pairs":
            found += _pairs(run)
        else:
            for _, _, those in _places_of(kind, run, 0):
                found += those
    return found


def places(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield where the words of a text are: start, end, and the words there.

    An identifier and all its parts share one place.
    """
    folded = fold(text)
    if folded == text:
        yield from ((start, end, list(those)) for start, end, those in _places(text))
        return
    atoms = list(folded_atoms(text))
    starts = [start for atom, start, _ in atoms for _ in atom]
    ends = [end for atom, _, end in atoms for _ in atom]
    for start, end, those in _places(folded):
        yield starts[start], ends[end - 1], list(those)


def plain(text: str) -> str:
    """Return a text in which each of its words stands, but for the endings that stems lose.

    Looking for a word in it is far cheaper than to count the words of the text.
    """
    respelled = _RESPELLED_ASCII if text.isascii() else _RESPELLED
    return respelled.sub(lambda one: f"{one[0]} {' '.join(words(one[0]))}", fold(text)).casefold()


def _places(folded: str) -> Iterator[_Found]:
    """Yield the places of the words of a folded text."""
    for run in _RUN.finditer(folded):
        yield from _places_of(run.lastgroup, run[0], run.start())


def _places_of(kind: str | None, run: str, start: int) -> Iterator[_Found]:
    if kind == "pairs":
        yield from _neighbours(run, start)
    elif kind == "clusters":
        yield from _neighbours(_CLUSTER.findall(run), start)
    elif those := _of_picture(run) if kind == "picture" else _of_spaced(run):
        yield start, start + len(run), those


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]


def _neighbours(units: Sequence[str], start: int) -> Iterator[_Found]:
    """Yield each pair of neighbours, and before it its first unit if that has marks, or no neighbour."""
    bounds = list(accumulate(map(len, units), initial=start))
    for place, unit in enumerate(units):
        if len(unit) > 1 or len(units) == 1:
            yield bounds[place], bounds[place + 1], (unit[:_MAX_WORD_CHARS],)
        if place + 1 < len(units):
            yield bounds[place], bounds[place + 2], ((unit + units[place + 1])[:_MAX_WORD_CHARS],)


def _of_picture(picture: str) -> tuple[str, ...]:
    whole = picture.replace("\ufe0f", "")
    bare = _EMOJI_DETAIL.sub("", picture)
    return tuple(dict.fromkeys(word[:_MAX_WORD_CHARS] for word in (whole, bare, bare.partition("\u200d")[0])))


def _of_spaced(run: str) -> tuple[str, ...]:
    return _of_short(run) if len(run) <= _MAX_KEPT_CHARS else tuple(_of_run(run))


@lru_cache(maxsize=65_536)
def _of_short(run: str) -> tuple[str, ...]:
    return tuple(_of_run(run))


def _of_run(run: str) -> Iterator[str]:
    if run.isalnum():
        yield from _of_identifier(run)
        return
    for form in forms_of(run):
        yield form.casefold()[:_MAX_WORD_CHARS]
    for piece, is_number in pieces_of(run):
        if is_number:
            yield number_of(piece)[:_MAX_WORD_CHARS]
        else:
            yield from _of_identifier(piece)


def _of_identifier(run: str) -> Iterator[str]:
    whole = run.casefold().replace("\u200c", "")[:_MAX_WORD_CHARS]
    if _NUMBER.fullmatch(run):
        yield from (whole, *shorter(whole))
        return
    names = _JOINT.split(run)
    if len(names) > 1:
        yield whole
        yield from (word[:_MAX_WORD_CHARS] for word in versions_in(run))
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
