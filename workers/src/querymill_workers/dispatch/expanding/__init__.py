"""A search beside whose question a chat model writes: a hypothetical hit, other questions. Read this file first.

    question -> original/… ──────────────────────┐
             -> hyde         (a chat model) -> hyde/1/… ─┼-> one ranking of what the branches found, by rank
             -> variant      (a chat model) -> variant/1/…, variant/2/… ─┘

The question is searched at once. Each text that is written becomes a branch: the same search, of that text, on a part
of the board of its own (``../branches.py``). What fails, is late or says nothing new is left out and named. Once all
branches have ended, or the deadline has come, their hits are joined (``show.py``).

`reports` has such branches in its own flow, because its fusion counts how many queries agree.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from querymill_shared.board import Board, Claim, Outcome, Picture
from querymill_shared.branches import ORIGINAL, step_in
from querymill_shared.contracts.kinds import KindSearch
from querymill_workers.dispatch.branch_board import BranchBoard
from querymill_workers.dispatch.branches import READS, FlowOf, cut_short, go_on, run_in_branch
from querymill_workers.dispatch.endings import NOT_BEGUN, BranchEnding, endings_in
from querymill_workers.dispatch.expanding.show import show_ranking, show_result
from querymill_workers.dispatch.ports import Ports
from querymill_workers.expansion.notes import WrittenNotes, search_in, texts_by_branch
from querymill_workers.expansion.writing import write_texts
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.jobs.stages import Laps


def flow_of(request: KindSearch, flow_of_kind: FlowOf) -> Flow[Ports]:
    """Return the flow of a search with expansions. Each branch has the flow of its kind."""
    return Flow(
        partial(step, request=request, flow_of_kind=flow_of_kind),
        partial(conclude, request=request, flow_of_kind=flow_of_kind),
        partial(settle, request=request, flow_of_kind=flow_of_kind),
        reads=READS,
    )


def step(claim: Claim, ports: Ports, *, request: KindSearch, flow_of_kind: FlowOf) -> Sequence[Bell]:
    """Write what is searched beside the question, or run one step of a branch."""
    is_to_tell = False
    if claim.step in request.expansions:
        rung, picture = list[Bell](), write(claim, request, ports)
    else:
        branch = claim.step.rpartition("/")[0]
        texts = {} if branch == ORIGINAL else texts_by_branch(ports.board.picture(claim.job_id), request)
        board = board_of(ports.board, branch, texts, request)
        bells, picture = run_in_branch(claim, board, ports, flow_of_kind)
        rung, is_to_tell = list(bells), board.is_to_tell
    if picture is None:
        return rung
    return [*rung, *conclude(picture, ports, request=request, flow_of_kind=flow_of_kind, is_to_tell=is_to_tell)]


def write(claim: Claim, request: KindSearch, ports: Ports) -> Picture | None:
    """Have a chat model write texts, and close the step with those that no other step has written.

    Return the picture of the job if something follows.
    """
    laps = Laps(ports)
    try:
        written, usage = write_texts(claim, request, ports)
    except (Unavailable, Refused) as error:
        log_failure(claim, error)
        laps.lap("write")
        outcome = Outcome("failed", str(error), ms=laps.total_ms, code=error.code, parts=laps.parts)
        return ports.board.finish(claim, outcome)
    texts = ports.board.take_queries(claim, written, rivals=request.expansions) if written else []
    laps.lap("write")
    notes = WrittenNotes(texts=tuple(texts), timing=laps.ms, usage=usage.noted())
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts))
    return ports.board.picture(claim.job_id) if picture is None and texts else picture


def board_of(board: Board, branch: str, texts: Mapping[str, str], request: KindSearch) -> BranchBoard:
    """Return the part of the board that belongs to a branch."""
    return BranchBoard(board, branch, search_in(branch, texts.get(branch, ""), request), request)


def conclude(
    picture: Picture, ports: Ports, *, request: KindSearch, flow_of_kind: FlowOf, is_to_tell: bool = False
) -> Sequence[Bell]:
    """Begin the branches whose texts are written, go on with those whose steps have closed, and settle the job.

    A branch goes on by itself. It is continued here if its worker died, or if its step failed for good. With
    ``is_to_tell`` readers are due to be told of the ranking so far.

    Raises:
        Unavailable: The store that the end of a branch reads is away: that is put off.
    """
    texts = texts_by_branch(picture, request)
    branches = (ORIGINAL, *texts)
    endings, rung, away = dict(endings_in(picture, branches)), list[Bell](), list[Unavailable]()
    for branch in [branch for branch in branches if branch not in endings]:
        board = board_of(ports.board, branch, texts, request)
        try:
            bells, ending = begin_or_go_on(board, picture, request, ports, flow_of_kind)
        except Unavailable as error:
            away.append(error)
            continue
        rung += bells
        if ending is not None:
            endings[branch] = ending
    is_written = all(step.is_closed for step in picture.steps if step.name in request.expansions)
    if is_written and len(endings) == len(branches):
        ports.board.settle(picture.record.job_id, show_result(picture, endings, request, ports))
    elif is_to_tell and ORIGINAL in endings and endings[ORIGINAL].hits:
        ports.board.append_event(picture.record.job_id, show_ranking(endings, request))
    if away and not rung:
        raise away[0]
    return rung


def begin_or_go_on(
    board: BranchBoard, picture: Picture, request: KindSearch, ports: Ports, flow_of_kind: FlowOf
) -> tuple[Sequence[Bell], BranchEnding | None]:
    """Add the first steps of a branch, or go on with it if they have closed."""
    if board.shown(picture).steps:
        return go_on(board, picture, ports, flow_of_kind)
    names = [step_in(board.branch, name) for name in board.asked.steps]
    return add_steps(picture, names, request, ports), None


def settle(picture: Picture, ports: Ports, *, request: KindSearch, flow_of_kind: FlowOf) -> None:
    """End the job at its deadline: with what each branch has by then."""
    texts = texts_by_branch(picture, request)
    endings = dict(endings_in(picture, (ORIGINAL, *texts)))
    for branch in (ORIGINAL, *texts):
        board = board_of(ports.board, branch, texts, request)
        if branch not in endings:
            has_begun = board.shown(picture).steps
            endings[branch] = cut_short(picture, board, ports, flow_of_kind) if has_begun else NOT_BEGUN
    ports.board.settle(picture.record.job_id, show_result(picture, endings, request, ports))
