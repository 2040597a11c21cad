"""How a poll is shown as a message."""

from collections.abc import Sequence
from typing import Any


def of_poll(question: str, answers: Sequence[tuple[str, Any]]) -> str:
    r"""Return a poll as text: its question, and a line for each answer with its votes where they are known.

    ``When?`` with ``("Friday", 3)`` is ``When?\n- Friday (3)``.
    """
    lines = [f"- {text} ({votes})" if isinstance(votes, int) else f"- {text}" for text, votes in answers if text]
    return "\n".join(filter(None, (question, *lines)))
