"""A flow: what is done for one kind of request, as one value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from querymill_shared.board import Claim, Picture
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import fail_at_deadline
from querymill_workers.jobs.ports import Common

P = TypeVar("P", bound=Common, contravariant=True)
Q = TypeVar("Q", bound=Common)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Flow(Generic[P]):
    """The flow of one request; ``P`` is the part of the world that it may touch.

    ``step`` carries out a claimed step. ``conclude`` goes on from a closed one: it settles the job if nothing
    follows. Both return the bells to ring next. ``settle`` ends the job at its deadline with what is there.
    """

    step: Callable[[Claim, P], Sequence[Bell]]
    conclude: Callable[[Picture, P], Sequence[Bell]]
    settle: Callable[[Picture, P], None] = fail_at_deadline


def flow(
    request: R,
    step: Callable[[Claim, R, Q], Sequence[Bell] | None],
    conclude: Callable[[Picture, R, Q], Sequence[Bell] | None],
    settle: Callable[[Picture, R, Q], None] | None = None,
) -> Flow[Q]:
    """Bind a flow's functions to a request.

    A ``step`` or ``conclude`` that never rings returns None. Without ``settle`` the job fails at its deadline.
    """

    def carry_out(claim: Claim, ports: Q) -> Sequence[Bell]:
        return step(claim, request, ports) or []

    def go_on(picture: Picture, ports: Q) -> Sequence[Bell]:
        return conclude(picture, request, ports) or []

    if settle is None:
        return Flow(carry_out, go_on)
    return Flow(carry_out, go_on, lambda picture, ports: settle(picture, request, ports))
