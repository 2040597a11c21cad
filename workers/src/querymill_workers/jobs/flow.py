"""A flow: everything that is done for one kind of request, as one value."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from querymill_shared.board import Claim, Picture
from querymill_shared.values import value
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import fail_at_deadline
from querymill_workers.jobs.ports import Common

P = TypeVar("P", bound=Common, contravariant=True)
Q = TypeVar("Q", bound=Common)
R = TypeVar("R")


@value
class Flow(Generic[P]):
    """The flow of one request. ``P`` is the part of the world that it may touch.

    ``step`` runs a claimed step. ``conclude`` continues after a step has closed, and settles the job if no step
    follows. Both return the bells to ring next. ``settle`` ends the job at its deadline with whatever it has.
    ``reads`` names the store that ``conclude`` and ``settle`` read, or is None if they touch the board only: the
    sweeper waits for no store.
    """

    step: Callable[[Claim, P], Sequence[Bell]]
    conclude: Callable[[Picture, P], Sequence[Bell]]
    settle: Callable[[Picture, P], None] = fail_at_deadline
    reads: str | None = None


def flow(
    request: R,
    step: Callable[[Claim, R, Q], Sequence[Bell] | None],
    conclude: Callable[[Picture, R, Q], Sequence[Bell] | None],
    settle: Callable[[Picture, R, Q], None] | None = None,
    *,
    reads: str | None = None,
) -> Flow[Q]:
    """Bind a flow's functions to a request.

    A ``step`` or ``conclude`` that never rings returns None. Without ``settle`` the job fails at its deadline.
    ``reads`` names the store that ``conclude`` and ``settle`` read, if any.
    """

    def carry_out(claim: Claim, ports: Q) -> Sequence[Bell]:
        return step(claim, request, ports) or []

    def go_on(picture: Picture, ports: Q) -> Sequence[Bell]:
        return conclude(picture, request, ports) or []

    if settle is None:
        return Flow(carry_out, go_on, reads=reads)
    return Flow(carry_out, go_on, lambda picture, ports: settle(picture, request, ports), reads)
