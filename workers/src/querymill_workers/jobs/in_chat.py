"""The turns before a question: as a request carries them, and as its result tells of them."""

from typing import Protocol

from querymill_shared.contracts.history import HISTORY, HistoryUse, Turn
from querymill_workers.text.in_context import QuestionInContext, SaidTurn, in_context, said_before


class AskedInChat(Protocol):
    """A request with a question."""

    @property
    def query(self) -> str:
        """The question."""
        ...

    @property
    def history(self) -> tuple[Turn, ...]:
        """The turns before it, the oldest first."""
        ...


def context_of(request: AskedInChat) -> QuestionInContext:
    """Return the question of a request with what the turns before it add."""
    return in_context(request.query, said(request))


def shown_turns(request: AskedInChat) -> list[SaidTurn]:
    """Return what a model needs to be shown of a chat to understand the question of a request."""
    return said_before(request.query, said(request))


def said(request: AskedInChat) -> tuple[SaidTurn, ...]:
    """Return the turns before the question of a request."""
    return tuple(SaidTurn(turn.role, turn.text) for turn in request.history)


def texts_of(asked: QuestionInContext) -> dict[str, tuple[str, ...]]:
    """Return the texts that are searched beside a question, as results show them."""
    return {HISTORY: tuple(each.text for each in asked.added)} if asked.added else {}


def use_of(request: AskedInChat) -> HistoryUse | None:
    """Return what a result says of the earlier turns, or None if there are none."""
    if not request.history:
        return None
    asked = context_of(request)
    weights = tuple(round(each.weight, 4) for each in asked.added)
    return HistoryUse(refers=asked.leaning.refers, weights=weights, left_out=asked.left_out)
