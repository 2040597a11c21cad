"""Chinese function words: they are blanked before a text is indexed, as English ones are left out."""

import re
from typing import Final

import rjieba

from querymill_workers.text.lexicon import listed

#: Words that say nothing about the topic of a text.
CHINESE_FUNCTION_WORDS: Final = frozenset(listed("function_words", "blank", "conversations"))
_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


def without_function_words(text: str) -> str:
    """Replace Chinese function words with blanks, one per character, so that offsets of other words stay the same.

    Stored texts and queries must both go through this function.
    """
    return _CHINESE.sub(_kept, text)


def _kept(run: re.Match[str]) -> str:
    return "".join(" " * len(word) if word in CHINESE_FUNCTION_WORDS else word for word in rjieba.cut(run[0]))
