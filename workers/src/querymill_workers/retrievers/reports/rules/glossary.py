"""The terms of a glossary that a question uses."""

import re
from collections.abc import Mapping


def terms_in(question: str, glossary: Mapping[str, str], *, limit: int = 5) -> dict[str, str]:
    """Return up to ``limit`` terms of the glossary that occur in the question, longest first, with explanations.

    Latin terms match whole words and ignore case (ASCII look-arounds: a Chinese neighbour is a boundary).
    Chinese terms match anywhere. A term that occurs only inside a longer term is left out.
    """
    left = question
    found: dict[str, str] = {}
    for term in sorted(glossary, key=lambda term: (-len(term), term)):
        if len(found) == limit:
            break
        pattern = _pattern(term)
        if pattern.search(left):
            found[term] = glossary[term]
            left = pattern.sub(" ", left)
    return found


def _pattern(term: str) -> re.Pattern[str]:
    start = r"(?<![A-Za-z0-9])" if term[0].isascii() else ""
    end = r"(?![A-Za-z0-9])" if term[-1].isascii() else ""
    return re.compile(start + re.escape(term) + end, re.IGNORECASE)
