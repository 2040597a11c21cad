"""Names with a number: "PR 178", "line 48", 工单 20951. The number says which one is meant.

BM25 takes name and number for two words, so a long session with many PRs beats the one that has PR 178. In a long
question a number is a detail: counting it more there lost 0.008 on chats (`tests/quality/conversations.md`).
"""

import re
from typing import Final

from querymill_workers.text.words import words

#: How many times the number counts, where other words count once.
TIMES: Final = 3
#: A question with more words than this, function words aside, is not about the number.
MAX_WORDS: Final = 5
# A measure or a counted thing after the number: "takes 30 seconds" names nothing.
_MEASURE: Final = (
    "(?: ?(?:%|percent|ms|s|sec|secs|seconds?|min|mins|minutes?|hours?|days?|weeks?|months?|years?|times|kb|mb|gb|tb"
    "|bytes|characters|lines|rows|users|people)(?![A-Za-z0-9_])| ?[个次秒分天年月周条人倍行位岁元万亿])"
)
# An English name stands apart from its number, or the parts of "utf8" would be taken for one.
_NUMBERED: Final = re.compile(
    "(?:(?P<name>[A-Za-z]{2,40})(?: #?|#|-)|(?P<han>[\u4e00-\u9fff]{2}) ?#?|(?<![A-Za-z0-9_])#)"
    f"(?P<number>[0-9]{{1,12}}(?:[.-][0-9]{{1,12}}){{0,4}})(?![A-Za-z0-9_]|{_MEASURE})",
    re.IGNORECASE,
)


def numbers_of(text: str) -> list[str]:
    """List the numbers that follow a name, in order; none after a word without a meaning of its own ("in 2023")."""
    return [match["number"] for match in _NUMBERED.finditer(text) if match["name"] is None or words(match["name"])]


def with_numbers(text: str) -> str:
    """Build the text in which such a number counts three times, if the question is short.

    "PR 178 is red" gives "PR 178 is red", 178 and 178.
    """
    if len(words(text)) > MAX_WORDS:
        return text
    return "\n".join([text, *(number for number in numbers_of(text) for _ in range(TIMES - 1))])
