"""What is left out of a session, in the words in which it is counted: each follows a number."""

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
PREVIEWS: Final = "previews of links"
OTHER_BRANCHES: Final = "messages on branches that were left"


def unknown_kind(kind: object) -> str:
    """Return how a part of a kind that is not known is counted."""
    return f"parts of the kind {str(kind)[:60]!r}"
