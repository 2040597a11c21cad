"""A search whose candidates a relevance judge orders, whatever their kind. Read this file first.

    question -> the search as it is, of 30 to 100 hits -> candidates (a step that nobody runs)
             -> rerank-01, rerank-02, … (the judge), side by side
             -> one order: the judged by relevance, the others below (``show.py``)

The search has the steps and the flow that it has without a judge, on a board that does not show it the judge's steps
(``candidates_board.py``). With expansions, or over everything, its one ranking is judged at the end. What the judge
does not say in its share of the deadline is left out and named. A search with ``rerank="auto"`` on a worker without a
judge is the search as it is.

`reports` judges in its own flow, because the answer is written from that order: see
``../../adr/0034-the-candidates-are-judged-once.md``.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.rerank import batch_names, batch_of, judges_batch
from querymill_shared.contracts.search import AnySearch
from querymill_workers.dispatch.branches import READS, FlowOf, cut_short, go_on, run_in_branch
from querymill_workers.dispatch.endings import BranchEnding, endings_in
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.reranking.board import CANDIDATES, CandidatesBoard
from querymill_workers.dispatch.reranking.passages import passages_of
from querymill_workers.dispatch.reranking.request import without_judge
from querymill_workers.dispatch.reranking.show import judged_of, show_candidates, show_result
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.stages import Laps
from querymill_workers.services.judging import is_to_judge, judge_batch


def flow_of(request: AnySearch, flow_of_search: FlowOf) -> Flow[Ports]:
    """Return the flow of a search whose candidates may be judged. The search itself has the flow that it has."""
    return Flow(
        partial(step, request=request, flow_of_search=flow_of_search),
        partial(conclude, request=request, flow_of_search=flow_of_search),
        partial(settle, request=request, flow_of_search=flow_of_search),
        reads=READS,
    )


def step(claim: Claim, ports: Ports, *, request: AnySearch, flow_of_search: FlowOf) -> Sequence[Bell]:
    """Run one step of the search, or have one batch of its candidates judged."""
    if not is_to_judge(request, ports):
        asked = without_judge(request)
        return flow_of_search(asked).step(replace(claim, request=asked), ports)
    if judges_batch(claim.step):
        rung, picture = list[Bell](), judge_step(claim, request, ports)
    else:
        bells, picture = run_in_branch(claim, CandidatesBoard(ports.board, request), ports, flow_of_search)
        rung = list(bells)
    if picture is None:
        return rung
    return [*rung, *conclude(picture, ports, request=request, flow_of_search=flow_of_search)]


def judge_step(claim: Claim, request: AnySearch, ports: Ports) -> Picture | None:
    """Have the judge read one batch of the candidates, and close the step. Return the job's picture if it is due."""
    laps, whole = Laps(ports), ports.board.picture(claim.job_id)
    found = ending_in(whole)
    hits = () if found is None else judged_of(found, request)
    passages = passages_of(hits, batch_of(claim.step), request, ports)
    outcome = judge_batch(claim, whole, context_of(request).meaning, passages, request, ports, laps)
    return ports.board.finish(claim, outcome)


def ending_in(picture: Picture) -> BranchEnding | None:
    """Return how the search for candidates ended, None if it has not."""
    return dict(endings_in(picture, (CANDIDATES,))).get(CANDIDATES)


def conclude(picture: Picture, ports: Ports, *, request: AnySearch, flow_of_search: FlowOf) -> Sequence[Bell]:
    """Go on with the search, have its candidates judged once it has ended, and settle the job after that.

    The search goes on by itself. It is continued here if its worker died, or if its step failed for good.

    Raises:
        Unavailable: The store that the end of the search reads is away: that is put off.
    """
    if not is_to_judge(request, ports):
        return flow_of_search(without_judge(request)).conclude(picture, ports)
    found, rung = ending_in(picture), list[Bell]()
    if found is None:
        bells, found = go_on(CandidatesBoard(ports.board, request), picture, ports, flow_of_search)
        rung = list(bells)
        if found is None:
            return rung
    batches = batch_names(len(judged_of(found, request)))
    known = {step.name for step in picture.steps}
    if missing := [name for name in batches if name not in known]:
        ports.board.append_event(picture.record.job_id, show_candidates(found, request))
        return [*rung, *add_steps(picture, missing, request, ports)]
    if all(step.is_closed for step in picture.steps):
        ports.board.settle(picture.record.job_id, show_result(picture, found, request, ports))
    return rung


def settle(picture: Picture, ports: Ports, *, request: AnySearch, flow_of_search: FlowOf) -> None:
    """End the job at its deadline: with the candidates that there are by then, and what the judge has said of them."""
    if not is_to_judge(request, ports):
        flow_of_search(without_judge(request)).settle(picture, ports)
        return
    board = CandidatesBoard(ports.board, request)
    found = ending_in(picture) or cut_short(picture, board, ports, flow_of_search)
    ports.board.settle(picture.record.job_id, show_result(picture, found, request, ports))
