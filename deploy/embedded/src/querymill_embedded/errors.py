"""What can go wrong with the embedded stack."""

from pathlib import Path


class StackError(RuntimeError):
    """A stack or one part of it cannot do what was asked; the message says which part, why, and the mend."""


def log_tail(log: Path, *, lines: int = 15) -> str:
    """The last lines of a log, indented for use inside a message; says so when there is none."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    tail = text.splitlines()[-lines:] or ["(nothing was written)"]
    return "\n".join(f"    {line}" for line in tail)


def dead_part(name: str, reason: str, log: Path) -> StackError:
    """The error for a part that does not run: its name, the reason, the end of its log."""
    return StackError(f"{name} does not run: {reason}\n  last lines of {log}:\n{log_tail(log)}")
