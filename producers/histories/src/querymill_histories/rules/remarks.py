"""What is left out of a session, in the words in which it is counted: each follows a number."""

from typing import Final

ATTACHMENTS: Final = "attachments"
SYSTEM_LINES: Final = "system lines"
WITHOUT_TEXT: Final = "messages without a text"
DELETED: Final = "deleted messages"
THOUGHTS: Final = "hidden thoughts"
OTHER_BRANCHES: Final = "messages on branches that were left"


def unknown_kind(kind: object) -> str:
    """Return how a part of a kind that is not known is counted."""
    return f"parts of the kind {str(kind)[:60]!r}"
