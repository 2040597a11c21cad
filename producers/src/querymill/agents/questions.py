"""The question that the last message of a chat asks, with what it refers back to.

A search knows nothing of a chat. "And in 2021?" finds nothing by itself, so a question that refers back is searched and
answered together with the questions before it, the oldest first, until one stands by itself. Replies of the assistant
are left out: they are long, and what they say came from the passages that are searched again.
"""

import re
from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.fields import MAX_QUERY_CHARS

#: Questions before the last one that are added at most, and their characters.
MAX_BEFORE, MAX_BEFORE_CHARS = 3, 2_000
#: A longer question stands by itself, even if it says "it": in characters.
MAX_REFERRING_CHARS: Final = 160
#: A question of fewer words lacks its subject.
_LEAST_WORDS: Final = 3
_LEAST_CHINESE: Final = 6
_REFERS: Final = re.compile(
    r"\b(it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|then|one|ones|same|else"
    r"|other|others|another|instead|former|latter|above|previous|again|more details?|elaborate)\b"
    r"|[它他她其这那该]|上述|上面|前者|后者|同样|还有|继续|详细",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"\s*(and|or|but|so|also|what about|how about|why|why not|really)\b"
    r"|\s*(那么?|还有|以及|但是?|为什么)|.*呢[?？]?\s*$",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")


def refers_back(question: str) -> bool:
    """Whether a question cannot be understood without the one before it.

    "And in 2021?" and "what does it cost?" refer back. "Which ships did Nordhav sell in 2021?" stands by itself.
    """
    if len(question) > MAX_REFERRING_CHARS:
        return False
    chinese = len(_CHINESE.findall(question))
    is_short = chinese < _LEAST_CHINESE if chinese else len(question.split()) < _LEAST_WORDS
    return is_short or _GOES_ON.match(question) is not None or _REFERS.search(question) is not None


def question_of(asked: Sequence[str]) -> str:
    """Return the last of the questions, under those before it that it refers back to.

    Args:
        asked: The messages of the user, at least one, the latest last.
    """
    needed = [asked[-1]]
    room = min(MAX_BEFORE_CHARS, MAX_QUERY_CHARS - len(asked[-1]) - MAX_BEFORE)
    for earlier in reversed(asked[-1 - MAX_BEFORE : -1]):
        if not refers_back(needed[0]) or len(earlier) > room:
            break
        needed.insert(0, earlier)
        room -= len(earlier)
    return "\n".join(needed)
