"""Correct the spelling of a query by the words of its collection."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from rapidfuzz.distance import OSA

from querymill_shared.values import value
from querymill_workers.text.words import words

#: Words with fewer letters are not corrected: too many other words are one letter away.
MIN_LETTERS: Final = 5
#: In words with at least this many letters, two edits are allowed.
MIN_LETTERS_FOR_TWO_EDITS: Final = 8

_WORD: Final = re.compile(r"(?<![A-Za-z0-9_.@#/\\-])[A-Za-z]+(?![A-Za-z0-9_@#/\\(\[-]|\.[A-Za-z0-9])")
_CODE: Final = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
#: Endings that stemming removes. A term of the index is shown with the ending that fits the written word.
_ENDINGS: Final = (
    "", "e", "s", "es", "ed", "d", "ing", "ion", "ions", "er", "ers", "ment", "al", "ly", "able", "ive", "ize", "ise",
    "ized", "ation", "ations", "ization", "ity", "ance", "ence",
)  # fmt: skip


@value
class Correction:
    """A word as it was written, and the word it was read as."""

    written: str
    read_as: str


def suspects(text: str) -> dict[str, str]:
    """List the words that may be misspelled, in lower case, each with its term in the index.

    Only plain words of at least 5 letters are listed: no identifiers (camelCase, snake_case, dotted, called), no
    paths, no words with capitals other than the first letter, and nothing in backquotes. Function words are in no
    index, so they are not listed.
    """
    plain = [match[0].casefold() for match in _plain_words(text)]
    return {word: terms[0] for word in plain if len(terms := words(word)) == 1}


def corrections(suspected: Mapping[str, str], *, near: Mapping[str, Collection[str]]) -> list[Correction]:
    """Correct the words that a collection does not have, each to the nearest word that it has.

    One edit is allowed (a letter changed, added or left out, or two neighbours swapped), and two edits in words of 8
    letters or more. The first letter must be right. If two words are equally near, neither is chosen, because that
    would be a guess.

    Worked example: the index has *databas*; "databse" (*databs*) is one swap away from *database*.

    Args:
        suspected: Words with their terms, as `suspects` lists them.
        near: For each term that the collection does not have, the near terms that it has. Known terms have no entry.
    """
    found = []
    for word, term in suspected.items():
        nearest = _nearest(word, term, near[term]) if term in near else None
        if nearest is not None:
            found.append(Correction(word, nearest))
    return found


def corrected(text: str, made: Iterable[Correction]) -> str:
    """Replace the corrected words in a text."""
    by_word = {correction.written: correction.read_as for correction in made}
    pieces, past = [], 0
    for match in _plain_words(text):
        if match[0].casefold() in by_word:
            pieces += [text[past : match.start()], by_word[match[0].casefold()]]
            past = match.end()
    return "".join([*pieces, text[past:]])


def _plain_words(text: str) -> Iterator[re.Match[str]]:
    masked = _CODE.sub(lambda code: "`" * len(code[0]), text)
    for match in _WORD.finditer(masked):
        if len(match[0]) >= MIN_LETTERS and match[0][1:].islower():
            yield match


def _nearest(word: str, term: str, candidates: Iterable[str]) -> str | None:
    max_edits = 2 if len(word) >= MIN_LETTERS_FOR_TWO_EDITS else 1
    near = [known for known in candidates if known[:1] == term[:1] and OSA.distance(term, known) <= max_edits]
    distances = {
        form: distance
        for known in near
        if (form := _form(word, known)) and (distance := OSA.distance(word, form)) <= max_edits
    }
    least = min(distances.values(), default=0)
    nearest = [form for form, distance in distances.items() if distance == least]
    return nearest[0] if len(nearest) == 1 else None


def _form(word: str, term: str) -> str | None:
    """Return the spelling of a term with the ending that is nearest to that of a word, or None if no ending fits."""
    stems = {term, term[:-1] + "y"} if term.endswith("i") else {term}
    forms = [stem + ending for stem in stems for ending in _ENDINGS]
    fitting = [form for form in forms if form.isalpha() and words(form) == [term]]
    return min(fitting, key=lambda form: (OSA.distance(word, form), -len(form), form), default=None)
