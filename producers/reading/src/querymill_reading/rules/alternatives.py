"""A text that stands in several forms, as mails have theirs: whether one form says clearly more than another."""

import re
from collections import Counter
from typing import Final

#: A word; of scripts that part no words, a letter.
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
#: What one form shows and another does not: where links lead, and what stands for a picture.
_NOT_SAID: Final = re.compile(r"(?:https?://|www\.|mailto:|cid:)[^\s<>\])]*|\[Picture: [^\]]*\]", re.I)
#: Words that a form must say beyond another, and the share of its own words that these must be.
MIN_WORDS: Final = 5
MIN_SHARE: Final = 0.25


def says_more(form: str, other: str) -> bool:
    """Return whether a form of a text has many words that the other lacks.

    >>> says_more("The harbour is closed on Friday, and the quay too", "This mail is in HTML")
    True
    """
    words = Counter(_WORD.findall(_NOT_SAID.sub(" ", form).lower()))
    lacking = words - Counter(_WORD.findall(_NOT_SAID.sub(" ", other).lower()))
    return lacking.total() >= max(MIN_WORDS, MIN_SHARE * words.total())
