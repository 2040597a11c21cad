"""Fences: how text of strangers stands in a prompt without being taken for a part of it."""

import re
import secrets
from collections.abc import Iterable

#: How chat formats begin their control words (<|im_start|>, </s>, [INST]); some servers read them in any text.
_CONTROL = re.compile(r"[<\[](?=\S)")


def new_fence(texts: Iterable[str]) -> str:
    """Draw a token that none of the texts holds.

    Whoever wrote a text could not know the token, so nothing in it opens or closes a fence.
    """
    held = tuple(texts)
    while True:
        token = secrets.token_hex(4)
        if not any(token in text for text in held):
            return token


def fenced(fence: str, name: str, text: str) -> str:
    """Put a text between the lines of a fence, under a name of ours; control words in it are broken up."""
    broken_up = _CONTROL.sub(r"\g<0> ", text)
    return f"<<{fence} {name}>>\n{broken_up}\n<<{fence} end>>"
