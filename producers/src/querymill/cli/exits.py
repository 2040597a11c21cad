"""Exit codes, and what a command raises that cannot do what it was asked. Help imports nothing heavy."""

from enum import IntEnum


class Exit(IntEnum):
    """What the shell sees."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    UNREACHABLE = 3


class WrongUse(Exception):
    """Raised when a command cannot use what it was given; the message names the field and the rule."""


class Unreachable(Exception):
    """Raised when a service does not answer; the message names it and the remedy."""


def why_unusable(error: OSError) -> str:
    """Say of a file why it cannot be used: "results.jsonl: no such file"."""
    reason = "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error)).lower()
    return reason if error.filename is None else f"{error.filename}: {reason}"
