"""The error of the embedded stack, and the texts of its messages."""

from pathlib import Path


class StackError(RuntimeError):
    """Raised when the stack or one of its parts cannot do what was asked. The message says why and what to do."""


def log_tail(log: Path, *, lines: int = 15) -> str:
    """Return the last lines of a log, indented for a message. A log without text becomes a note that says so."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    tail = text.splitlines()[-lines:] or ["(nothing was written)"]
    return "\n".join(f"    {line}" for line in tail)


def dead_part(name: str, reason: str, log: Path) -> StackError:
    """Return the error for a part that does not run: its name, the reason and the end of its log."""
    return StackError(f"{name} does not run: {reason}\n  last lines of {log}:\n{log_tail(log)}")
