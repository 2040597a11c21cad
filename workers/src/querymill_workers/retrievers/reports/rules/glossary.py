"""The terms of a glossary that a question uses, and the words by which reports state them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from querymill_shared.values import value

#: Terms of one question that are looked at.
TERMS_LIMIT: Final = 5


@value
class Term:
    """What a term means, and the words by which reports state it, as ``stated_as``.

    A ratio is stated by the lines that it is computed from, a word of everyday language by that of reports. Where
    reports use the term itself, ``stated_as`` is empty.
    """

    explanation: str
    stated_as: str = ""


@dataclass(frozen=True)
class Glossary:
    """Terms by name. Several names may share one term."""

    terms: Mapping[str, Term]
    #: The names, longest first, each with a text that occurs wherever it does, in lower case, and its pattern.
    _names: tuple[tuple[str, str, re.Pattern[str]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = sorted(self.terms, key=lambda name: (-len(name), name))
        object.__setattr__(self, "_names", tuple((name, _head(name), _pattern(name)) for name in names))

    def named_in(self, question: str) -> Iterator[str]:
        """Yield the names of terms that occur in the question, longest first.

        Latin names match whole words, ignore case, and take a blank for a hyphen and the reverse (ASCII look-arounds: a
        Chinese neighbour is a boundary). Chinese names match anywhere. A name that occurs only inside a longer name is
        left out.
        """
        left, lowered = question, question.lower()
        for name, head, pattern in self._names:
            # The pattern costs ten times as much as the test for its first word, and there are hundreds of names.
            if head in lowered and pattern.search(left):
                left = pattern.sub(" ", left)
                yield name


def terms_in(question: str, glossary: Glossary, *, limit: int = TERMS_LIMIT) -> dict[str, Term]:
    """Return up to ``limit`` terms of the glossary that occur in the question, longest name first."""
    named = glossary.named_in(question)
    return {name: glossary.terms[name] for name, _ in zip(named, range(limit), strict=False)}


def stated(question: str, glossary: Glossary) -> dict[str, str]:
    """Return the words by which reports state the question's terms, by name. Terms without such words are left out.

    For example, a question for the quick ratio leads to "… accounts receivable, total current liabilities", because a
    balance sheet has these lines and no ratio.
    """
    terms = terms_in(question, glossary)
    return {name: term.stated_as for name, term in terms.items() if term.stated_as}


def _head(name: str) -> str:
    return re.split(r"[\s'’-]", name.lower(), maxsplit=1)[0]


def _pattern(name: str) -> re.Pattern[str]:
    start = r"(?<![A-Za-z0-9])" if name[0].isascii() else ""
    end = r"(?![A-Za-z0-9])" if name[-1].isascii() else ""
    words = re.escape(name).replace(r"\ ", r"\-").replace(r"\-", r"[\s-]+").replace("'", "['’]")
    return re.compile(start + words + end, re.IGNORECASE)
