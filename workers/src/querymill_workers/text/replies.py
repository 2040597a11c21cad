"""Replies of chat models that are no answer to what was asked."""

import re
from typing import Final

# How refusals begin. A reply that says more than a refusal seldom begins so.
_REFUSAL: Final = re.compile(
    r"\W*(?:(?:i(?:'|\u2019)?m|i am) (?:very |really |so )?(?:sorry|unable|not able)\b|sorry\b|apologies\b"
    r"|i apologi[sz]e\b|i (?:can(?:'|\u2019)?t|cannot|can not|won(?:'|\u2019)?t|will not)\b"
    r"|unfortunately,? i\b|as an ai\b"
    r"|(?:很|非常)?(?:抱歉|对不起)|我(?:无法|不能|没办法)|作为(?:一个|一名)?(?:ai|人工智能)|无法(?:提供|回答))",
    re.IGNORECASE,
)
_TABLE_ROW: Final = re.compile(r"^[^\n|]*\|[^\n|]+\|", re.MULTILINE)


def is_refusal(reply: str) -> bool:
    """Return whether a model refuses to reply: "I'm sorry, but I can't help with that.", 抱歉，我无法回答."""
    return _REFUSAL.match(reply) is not None


def has_table(reply: str) -> bool:
    """Return whether a reply has a row of a Markdown table, such as ``| Revenue | 12.4 |``."""
    return _TABLE_ROW.search(reply) is not None
