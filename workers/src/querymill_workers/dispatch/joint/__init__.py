"""`search`: one question over everything. Read this file first.

    question -> reports/filings ───┐
             -> messages/chats ────┼-> each branch is the search of its kind, on its own part of the board
             -> files/code ────────┘        its last step leaves how it ended -> the last branch ranks all hits

A branch does not know that there are others. Its flow gets a board that shows it a job of its own
(``branch_board.py``): its steps, hits and queries, under their own names. What the flow ends that job with is left on
the real board as a step that nobody runs (``endings.py``). Once every branch has one, or the deadline has come, the
hits are ranked together (``evidence.py``, ``rules/ranking.py``) and shown (``show.py``). See
``../../adr/0031-branches-of-one-job.md``.

Where the question points to some branches, only these have steps at first. The others get theirs as soon as one of them
has ended and what was found says little (``rules/routing.py``); otherwise they are spared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.board.calls import COUNTERS
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.search import Search, branch_and_step
from querymill_workers.dispatch.joint.branch_board import BranchBoard
from querymill_workers.dispatch.joint.endings import BranchEnding, ending_of, endings_in
from querymill_workers.dispatch.joint.show import says_enough, show_ranking, show_result
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.backoff import wait_s
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.later_steps import add_steps

FlowOf = Callable[[KindSearch], Flow[Ports]]
#: The stores that the searches of all kinds read at their end.
READS = "the stores of its branches"


def flow_of(request: Search, flow_of_kind: FlowOf) -> Flow[Ports]:
    """Return the flow of a search, whose branches have the flows of their own kinds."""
    return Flow(
        partial(step, request=request, flow_of_kind=flow_of_kind),
        partial(conclude, request=request, flow_of_kind=flow_of_kind),
        partial(settle, request=request, flow_of_kind=flow_of_kind),
        reads=READS,
    )


def step(claim: Claim, ports: Ports, *, request: Search, flow_of_kind: FlowOf) -> Sequence[Bell]:
    """Run one step of a branch, and end the branch or the whole search if nothing follows.

    Raises:
        Refused: The time of the branch was up, or is before its store can be asked again.
    """
    branch, _ = branch_and_step(claim.step)
    if left_of_branch(claim, request, ports) <= 0:
        raise too_late(claim, ports)
    board = BranchBoard(ports.board, branch, request)
    try:
        rung = flow_of_kind(board.asked).step(board.claim_of(claim), on_board(board, ports))
    except Unavailable as error:
        before = getattr(claim.counts, COUNTERS[error.cause])
        soonest_s = max(error.again_in_s, wait_s(error.cause, before, is_durable=False, chance=1.0))
        if left_of_branch(claim, request, ports) < soonest_s:
            raise Refused(str(error), code=error.code) from error
        raise
    if board.verdict is not None and not board.has_closed:
        # The flow gave the job up without closing its step.
        ports.board.finish(claim, Outcome("failed", board.verdict.reason, code=board.verdict.code))
    picture = leave_ending(board, claim.job_id, ports)
    if picture is None:
        return board.outer_bells(rung)
    after = branch if board.is_to_tell else ""
    return conclude(picture, ports, request=request, flow_of_kind=flow_of_kind, after=after)


def left_of_branch(claim: Claim, request: Search, ports: Ports) -> float:
    """Return how many seconds a branch has left: it ends before the whole search does."""
    ends_s = request.ends_s(branch_and_step(claim.step)[0])
    return ends_s if claim.expires_at is None else claim.expires_at - (request.deadline - ends_s) - ports.clock()


def too_late(claim: Claim, ports: Ports) -> Refused:
    """Return why a step is not begun any more: what put it back until then, or that its turn came too late."""
    steps = {step.name: step for step in ports.board.picture(claim.job_id).steps}
    put_back = [attempt for attempt in steps[claim.step].attempts if attempt.outcome != "running" and attempt.reason]
    if put_back:
        return Refused(put_back[-1].reason, code=put_back[-1].code)
    return Refused(CUT, code="deadline")


def on_board(board: BranchBoard, ports: Ports) -> Ports:
    """Return the ports of a branch."""
    return replace(ports, board=board.as_board())


def leave_ending(board: BranchBoard, job_id: str, ports: Ports) -> Picture | None:
    """Leave on the board how a branch ended. Return the job's picture, or None if the branch or the job is over."""
    if board.verdict is None:
        return None
    return ports.board.add_closed_step(job_id, board.branch, ending_of(board.verdict))


def conclude(
    picture: Picture, ports: Ports, *, request: Search, flow_of_kind: FlowOf, after: str = ""
) -> Sequence[Bell]:
    """Go on with each branch whose steps have closed. Settle the job once all branches that were asked have ended.

    A branch goes on by itself. It is continued here if its worker died, or if its step failed for good. Branches that
    were not asked first are asked if those that have ended say little. With ``after``, the branch that has just ended,
    readers are told of the ranking so far.

    Raises:
        Unavailable: The store that the end of a branch reads is away: that is put off.
    """
    endings, rung, away = dict(endings_in(picture, request)), list[Bell](), list[Unavailable]()
    for branch in begun_in(picture, request)[0]:
        if branch not in endings:
            board = BranchBoard(ports.board, branch, request)
            try:
                rung += go_on(board, picture, ports, flow_of_kind)
            except Unavailable as error:
                away.append(error)
            if board.verdict is not None:
                leave_ending(board, picture.record.job_id, ports)
                endings[branch] = BranchEnding.of_verdict(board.verdict)
    rung += ask_on_or_settle(picture, endings, ports, request, after)
    if away and not rung:
        raise away[0]
    return rung


def go_on(board: BranchBoard, picture: Picture, ports: Ports, flow_of_kind: FlowOf) -> Sequence[Bell]:
    """Go on with a branch if all of its steps have closed.

    Raises:
        Unavailable: The store that its end reads is away.
    """
    shown = board.shown(picture)
    if shown.record.open_steps > 0:
        return []
    return board.outer_bells(flow_of_kind(board.asked).conclude(shown, on_board(board, ports)))


def ask_on_or_settle(
    picture: Picture, endings: Mapping[str, BranchEnding], ports: Ports, request: Search, after: str
) -> Sequence[Bell]:
    """Ask the branches that were left for later, if little was found. Settle the job if nothing is left to wait for."""
    begun, later = begun_in(picture, request)
    rung: Sequence[Bell] = []
    if later and endings and not says_enough(endings, request):
        rung = add_steps(picture, request.steps_of(later), request, ports)
    elif len(endings) == len(begun):
        ports.board.settle(picture.record.job_id, show_result(picture, endings, request))
        return []
    if after and any(ending.hits for ending in endings.values()):
        ports.board.append_event(picture.record.job_id, show_ranking(endings, request, after))
    return rung


def begun_in(picture: Picture, request: Search) -> tuple[list[str], list[str]]:
    """Return the branches that have steps on the board, and those that have none yet."""
    known = {branch_and_step(step.name)[0] for step in picture.steps}
    return (
        [branch for branch in request.branches if branch in known],
        [branch for branch in request.branches if branch not in known],
    )


def settle(picture: Picture, ports: Ports, *, request: Search, flow_of_kind: FlowOf) -> None:
    """End the job at its deadline: with what each branch has by then."""
    endings, (begun, later) = dict(endings_in(picture, request)), begun_in(picture, request)
    for branch in begun:
        if branch not in endings:
            endings[branch] = cut_short(picture, BranchBoard(ports.board, branch, request), ports, flow_of_kind)
    if not says_enough(endings, request):
        endings |= dict.fromkeys(later, BranchEnding(None, CUT, "deadline"))
    ports.board.settle(picture.record.job_id, show_result(picture, endings, request))


def cut_short(picture: Picture, board: BranchBoard, ports: Ports, flow_of_kind: FlowOf) -> BranchEnding:
    """Return how a branch ends at the deadline: with what it has, or with the reason why it has nothing."""
    try:
        flow_of_kind(board.asked).settle(board.shown(picture), on_board(board, ports))
    except (Unavailable, Refused) as error:
        return BranchEnding.of_verdict(Verdict("failed", reason=str(error), code=error.code))
    ending = BranchEnding.of_verdict(board.verdict or Verdict("failed", reason=CUT))
    return ending if ending.result else replace(ending, code=ending.code or "deadline")
