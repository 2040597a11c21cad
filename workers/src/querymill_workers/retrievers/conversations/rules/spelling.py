"""Spelling of a query's words, by what its collection says."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import OSA

from querymill_workers.text.words import words

#: A shorter word is left as it is: too many others are one letter away.
MIN_LETTERS: Final = 5
#: From how many letters on two edits are allowed.
MIN_LETTERS_FOR_TWO_EDITS: Final = 8

_WORD: Final = re.compile(r"(?<![A-Za-z0-9_.@#/\\-])[A-Za-z]+(?![A-Za-z0-9_@#/\\(\[-]|\.[A-Za-z0-9])")
_CODE: Final = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
#: What stemming takes off: a term of the index is shown with the ending that fits what was written.
_ENDINGS: Final = (
    "", "e", "s", "es", "ed", "d", "ing", "ion", "ions", "er", "ers", "ment", "al", "ly", "able", "ive", "ize", "ise",
    "ized", "ation", "ations", "ization", "ity", "ance", "ence",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Correction:
    """A word as it was written, and as it was read."""

    written: str
    read_as: str


def suspects(text: str) -> dict[str, str]:
    """List the words that may be misspelled, in lower case, each with the term it is in the index.

    Only plain words of at least 5 letters: no identifier (camelCase, snake_case, dotted, called), no path, no
    capitals but a leading one, nothing in back quotes. Function words are in no index, and not suspected.
    """
    plain = [match[0].casefold() for match in _plain_words(text)]
    return {word: terms[0] for word in plain if len(terms := words(word)) == 1}


def corrections(suspected: Mapping[str, str], *, near: Mapping[str, Collection[str]]) -> list[Correction]:
    """Correct the words that a collection does not know, each to the nearest word that it does know.

    One edit is allowed (a letter changed, added, left out, or two neighbours swapped), two in words of 8 letters
    and more; the first letter must be right. Of equally near words none is chosen: that would be a guess.

    Worked example: the index knows *databas*; "databse" (*databs*) is one swap of *database* away.

    Args:
        suspected: Words with their terms, as `suspects` lists them.
        near: For each term that the collection does not know, its terms that may be meant; known ones are left out.
    """
    found = []
    for word, term in suspected.items():
        nearest = _nearest(word, term, near[term]) if term in near else None
        if nearest is not None:
            found.append(Correction(word, nearest))
    return found


def corrected(text: str, made: Iterable[Correction]) -> str:
    """Put corrections into a text, at the words they are for."""
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
    """Find how a term of the index is written, with the ending that is nearest to a word's."""
    stems = {term, term[:-1] + "y"} if term.endswith("i") else {term}
    forms = [stem + ending for stem in stems for ending in _ENDINGS]
    fitting = [form for form in forms if form.isalpha() and words(form) == [term]]
    return min(fitting, key=lambda form: (OSA.distance(word, form), -len(form), form), default=None)
