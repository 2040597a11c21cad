"""Branches of one job: each is a search with a flow of its own, which sees a board of its own.

    a step of a branch -> its flow, on its part of the board (``branch_board.py``)
                       -> the last one leaves how the branch ended, as a step that nobody runs (``endings.py``)

See ``../adr/0031-branches-of-one-job.md``. What the branches are, and what is made of their ends, is for others to say.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.search import AnySearch
from querymill_workers.dispatch.branch_board import BranchBoard
from querymill_workers.dispatch.endings import BranchEnding, ending_of
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.flow import Flow

FlowOf = Callable[[AnySearch], Flow[Ports]]
#: The stores that the searches of all kinds read at their end.
READS: Final = "the stores of its branches"


def run_in_branch(
    claim: Claim, board: BranchBoard, ports: Ports, flow_of_kind: FlowOf
) -> tuple[Sequence[Bell], Picture | None]:
    """Run one step of a branch. Return its bells, and the job's picture if the branch has ended by that."""
    rung = flow_of_kind(board.asked).step(board.claim_of(claim), on_board(board, ports))
    if board.verdict is not None and not board.has_closed:
        # The flow gave the job up without closing its step.
        ports.board.finish(claim, Outcome("failed", board.verdict.reason, code=board.verdict.code))
    return board.outer_bells(rung), leave_ending(board, claim.job_id, ports)


def on_board(board: BranchBoard, ports: Ports) -> Ports:
    """Return the ports of a branch."""
    return replace(ports, board=board.as_board())


def leave_ending(board: BranchBoard, job_id: str, ports: Ports) -> Picture | None:
    """Leave on the board how a branch ended. Return the job's picture, or None if the branch or the job is over."""
    if board.verdict is None:
        return None
    return ports.board.add_closed_step(job_id, board.branch, ending_of(board.verdict))


def go_on(
    board: BranchBoard, picture: Picture, ports: Ports, flow_of_kind: FlowOf
) -> tuple[Sequence[Bell], BranchEnding | None]:
    """Go on with a branch if all of its steps have closed. Return the bells of what follows, and how it ended by that.

    Raises:
        Unavailable: The store that its end reads is away.
    """
    shown = board.shown(picture)
    if shown.record.open_steps > 0:
        return [], None
    rung = flow_of_kind(board.asked).conclude(shown, on_board(board, ports))
    if board.verdict is None:
        return board.outer_bells(rung), None
    leave_ending(board, picture.record.job_id, ports)
    return board.outer_bells(rung), BranchEnding.of_verdict(board.verdict)


def cut_short(picture: Picture, board: BranchBoard, ports: Ports, flow_of_kind: FlowOf) -> BranchEnding:
    """Return how a branch ends at the deadline: with what it has, or with the reason why it has nothing."""
    try:
        flow_of_kind(board.asked).settle(board.shown(picture), on_board(board, ports))
    except (Unavailable, Refused) as error:
        return BranchEnding.of_verdict(Verdict("failed", reason=str(error), code=error.code))
    ending = BranchEnding.of_verdict(board.verdict or Verdict("failed", reason=CUT))
    return ending if ending.result else replace(ending, code=ending.code or "deadline")
