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

from collections.abc import Mapping, Sequence
from functools import partial

from querymill_shared.board import Board, Claim, Picture
from querymill_shared.contracts.search import Search, branch_and_step
from querymill_workers.dispatch.branch_board import BranchBoard
from querymill_workers.dispatch.branches import READS, FlowOf, cut_short, go_on, run_in_branch
from querymill_workers.dispatch.endings import NOT_BEGUN, BranchEnding, endings_in
from querymill_workers.dispatch.joint.show import says_enough, show_ranking, show_result
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.backoff import soonest_again_s
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.later_steps import add_steps


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
    board = board_of(ports.board, branch, request)
    try:
        rung, picture = run_in_branch(claim, board, ports, flow_of_kind)
    except Unavailable as error:
        if left_of_branch(claim, request, ports) < soonest_again_s(error, claim.counts):
            raise Refused(str(error), code=error.code) from error
        raise
    if picture is None:
        return rung
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


def board_of(board: Board, branch: str, request: Search) -> BranchBoard:
    """Return the part of the board that belongs to a branch, which ends before the whole search does."""
    sooner_s = request.deadline - request.ends_s(branch)
    return BranchBoard(board, branch, request.search_of(branch), request, sooner_s=sooner_s)


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
    endings, rung, away = dict(endings_in(picture, request.branches)), list[Bell](), list[Unavailable]()
    for branch in begun_in(picture, request)[0]:
        if branch not in endings:
            try:
                bells, ending = go_on(board_of(ports.board, branch, request), picture, ports, flow_of_kind)
            except Unavailable as error:
                away.append(error)
                continue
            rung += bells
            if ending is not None:
                endings[branch] = ending
    rung += ask_on_or_settle(picture, endings, ports, request, after)
    if away and not rung:
        raise away[0]
    return rung


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
    endings, (begun, later) = dict(endings_in(picture, request.branches)), begun_in(picture, request)
    for branch in begun:
        if branch not in endings:
            endings[branch] = cut_short(picture, board_of(ports.board, branch, request), ports, flow_of_kind)
    if not says_enough(endings, request):
        endings |= dict.fromkeys(later, NOT_BEGUN)
    ports.board.settle(picture.record.job_id, show_result(picture, endings, request))
