"""The port for writing answers from passages and for judging answers."""

from collections.abc import Callable, Sequence
from typing import Protocol

from querymill_shared.values import value
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.languages import Language

#: Takes the next part of a reply. Returns False to stop the reply.
Hear = Callable[[str], bool]


@value
class AnswerEnd:
    """A written answer. ``is_whole`` is False if the model stopped at the token limit, or by an error: ``fault``.

    ``completion_tokens`` are those of the reply, of all that ``usage`` counts; None if the provider does not say.
    """

    is_whole: bool
    usage: ProviderUsage
    completion_tokens: int | None = None
    fault: str = ""


@value
class AnswerScores:
    """The scores of an answer, each from 0 to 1. ``unsupported`` holds sentence numbers, counted from 1."""

    grounded: float
    relevant: float
    complete: float
    unsupported: tuple[int, ...]


class Answers(Protocol):
    """Writes answers from numbered passages, and judges answers."""

    @property
    def writes(self) -> bool:
        """Whether a chat model writes answers; otherwise they are quotations."""
        ...

    @property
    def passage_tokens(self) -> int:
        """Default token limit of all passages of an answer together."""
        ...

    def write(
        self,
        question: str,
        passages: Sequence[str],
        *,
        language: Language,
        max_tokens: int,
        caller: Caller,
        hear: Hear,
        said: Sequence[SaidTurn] = (),
    ) -> AnswerEnd:
        """Write an answer that cites passages by [number], counted from 1. ``hear`` gets its parts as they arrive.

        ``said`` are the turns of the chat that the question refers back to, the oldest first.

        After the first part the call is not retried, so ``hear`` never gets a part twice.

        Raises:
            Unavailable: No reply in time, or one that broke off. Another call may succeed.
            Refused: Another call would not help, or none can start before the caller's deadline.
        """
        ...

    def judge(
        self,
        question: str,
        passages: Sequence[str],
        sentences: Sequence[str],
        *,
        language: Language,
        caller: Caller,
        said: Sequence[SaidTurn] = (),
    ) -> tuple[AnswerScores, ProviderUsage]:
        """Judge an answer, given as its sentences, against the passages it was written from.

        Raises:
            Unavailable: No reply in time, or none that could be read.
            Refused: Another call would not help, or none can start before the caller's deadline.
        """
        ...
