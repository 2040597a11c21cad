"""What is left out of a session, in the words in which it is counted: each is in the plural."""

import re
from typing import Final

ATTACHMENTS: Final = "attachments"
SYSTEM_LINES: Final = "system lines"
WITHOUT_TEXT: Final = "messages without a text"
WITHOUT_MESSAGE: Final = "sessions without a message"
DELETED: Final = "deleted messages"
THOUGHTS: Final = "hidden thoughts"
CUT: Final = "records that are cut"
NO_OBJECTS: Final = "records that are no objects"
NO_TEXTS: Final = "texts that are none"
NO_TIMES: Final = "times that are not understood"
NOT_UTF8: Final = "lines that are not UTF-8"
HIDDEN: Final = "messages that are hidden"
INSTRUCTIONS: Final = "instructions of the system"
INJECTED: Final = "texts that the tool added"
OF_AGENTS: Final = "messages of agents among themselves"
UNDONE: Final = "messages that were taken back"
REACTIONS: Final = "reactions"
PREVIEWS: Final = "link previews"
OTHER_BRANCHES: Final = "messages on branches that were left"


def unknown_kind(kind: object) -> str:
    """Return how a part of a kind that is not known is counted."""
    return f"parts of the kind {str(kind)[:60]!r}"


#: Words behind which nothing depends on how many there are.
_AFTER_A_NOUN: Final = re.compile(r" (?=(?:of|on|in|to|from|with|without|that|among)\b)")
#: What depends on it all the same: the verb, and what the things are.
_OF_SEVERAL: Final = {"that are no objects": "that is no object", "that are ": "that is ", "that were ": "that was "}


def quantity(count: int, what: str) -> str:
    """Return how many things of a kind there are, which is named in the plural.

    >>> quantity(1, WITHOUT_TEXT), quantity(2, DELETED), quantity(1, CUT)
    ('1 message without a text', '2 deleted messages', '1 record that is cut')
    """
    if count != 1:
        return f"{count} {what}"
    noun, *rest = _AFTER_A_NOUN.split(what, maxsplit=1)
    said = "".join(f" {each}" for each in rest)
    for several, one in _OF_SEVERAL.items():
        said = said.replace(f" {several}", f" {one}", 1) if said.startswith(f" {several}") else said
    return f"1 {noun.removesuffix('s')}{said}"
