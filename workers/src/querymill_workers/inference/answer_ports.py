"""What is asked of whoever answers questions from passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from querymill_workers.inference.ports import Caller
from querymill_workers.jobs.usage import Usage
from querymill_workers.text.languages import Language

#: Takes the next part of a reply; False when nobody listens any more.
Hear = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: ``is_whole`` is False when the model reached the most tokens it was given."""

    is_whole: bool
    usage: Usage


@dataclass(frozen=True, slots=True)
class Judged:
    """How good an answer is, each from 0 to 1; ``unsupported`` numbers its sentences from 1."""

    grounded: float
    relevant: float
    complete: float
    unsupported: tuple[int, ...]


class Answers(Protocol):
    """Answers questions from numbered passages, and judges answers."""

    @property
    def passage_tokens(self) -> int:
        """What the passages should have together where nobody says otherwise."""
        ...

    def write(
        self,
        question: str,
        passages: Sequence[str],
        *,
        language: Language,
        most_tokens: int,
        caller: Caller,
        hear: Hear,
    ) -> Written:
        """Write an answer that cites passages by [number], from 1; its parts are heard as they come.

        What is heard is never taken back by this call: after the first part it is not tried again.

        Raises:
            Unavailable: No answer in time, or one that broke off; another call may get one.
            Refused: Asking again would not help, or no call before the caller's time is up.
        """
        ...

    def judge(
        self, question: str, passages: Sequence[str], sentences: Sequence[str], *, language: Language, caller: Caller
    ) -> tuple[Judged, Usage]:
        """Judge an answer, given as its sentences, by the passages it was written from.

        Raises:
            Unavailable: No judgement in time, or none that could be read.
            Refused: Asking again would not help, or no call before the caller's time is up.
        """
        ...
