"""The words that a text is searched by: English for a Chinese one, and no names that nobody has.

Code, its identifiers and mostly its descriptions are English.
"""

import re
from collections.abc import Sequence
from typing import Final

from querymill_workers.text.languages import is_han
from querymill_workers.text.thesaurus import Thesaurus

_LATIN: Final = re.compile("[A-Za-z]")


def without_texts(text: str, said: Sequence[str]) -> str:
    """Blank out parts of a text: a class that no document has is no hit by a part of its name."""
    for part in sorted(dict.fromkeys(said), key=len, reverse=True):
        text = text.replace(part, " ")
    return text


def with_english(text: str, thesaurus: Thesaurus) -> str:
    """Return a request with the English words of what it says in Chinese: code and its names are English.

    The Chinese words stay, since a description may be Chinese.
    """
    return " ".join([text, *english_words(text, thesaurus)])


def english_words(text: str, thesaurus: Thesaurus) -> list[str]:
    """Return the English words to add to a request, each once, in order; none if it has no Chinese.

    "设置背景颜色为蓝色" gives background, color, blue.
    """
    if not is_han(text):
        return []
    found = [word for each in thesaurus.translated(text) for word in each.synonyms]
    found += [word for added in thesaurus.expand(text) for word in added.synonyms if _LATIN.match(word)]
    return list(dict.fromkeys(found))
