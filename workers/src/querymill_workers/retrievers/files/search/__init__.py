"""`files`: find the files in a code base that are relevant to a request.

    request ─> search by words, vectors and patterns, side by side
               last search done     ─> choose candidates, each once ─> judge them in shards, side by side
               last judged          ─> plan: enough, or which names next? Gaps first ─> search by name ─> judge ─> …
               enough, no new name, no round left or no tokens left ─> result

Every round measures relevance to the original request. A step understands the request (``query_analysis.py``,
``scope.py``), reads what the rounds before found (``rounds.py``), and does one of three things: recall, judge or plan.
When no step follows, the result is shown (``results.py``). None of these modules calls one that comes before it. The
rules are in ``rules/``; the decision after a round is in ``rules/rounds.py``.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.faults import Unavailable, Unreadable
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.files.notes import EvaluationNotes, PlanNotes, SearchNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.search.judge import judge
from querymill_workers.retrievers.files.search.plan import plan
from querymill_workers.retrievers.files.search.query_analysis import analyze_query
from querymill_workers.retrievers.files.search.recall import recall
from querymill_workers.retrievers.files.search.results import round_event, settle
from querymill_workers.retrievers.files.search.rounds import (
    expect,
    next_steps,
    paths_of_shard,
    rounds_of,
    rounds_until,
)
from querymill_workers.retrievers.files.search.scope import find_scope


def step(claim: Claim, request: FileSearch, ports: FilePorts) -> Sequence[Bell]:
    """Carry out one step of a round, close it and return the bells of the steps that follow."""
    place = FileStep.parse(claim.step)
    if place is None:
        raise Unavailable(f"this release does not know the step {claim.step!r}", code="pending")
    laps = Laps(ports)
    try:
        notes = carry_out(place, claim, request, ports)
    except Unreadable as error:  # only RE2 can tell that the request holds an invalid pattern
        ending = Verdict("failed", reason=f"patterns: {error}", code=error.code, counts_as=error.counts_as)
        ports.board.settle(claim.job_id, ending)
        return []
    laps.lap(place.stage)
    notes = notes.model_copy(update={"timing": laps.ms})
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts))
    return [] if picture is None else conclude(picture, request, ports)


def carry_out(
    place: FileStep, claim: Claim, request: FileSearch, ports: FilePorts
) -> SearchNotes | EvaluationNotes | PlanNotes:
    """Search, judge or plan; return the notes that later steps and the result read."""
    query = analyze_query(request.query, request.kinds, ports.thesauri["files"])
    is_first = place.stage == "search" and place.round == 1  # nothing was found before it
    rounds = [] if is_first else rounds_until(place, ports.board.picture(claim.job_id), limit=request.candidates)
    match place:
        case FileStep("search"):
            scope = find_scope(request, ports)
            return recall(place, query, scope, rounds, claim, request, ports)
        case FileStep("evaluate", _, int(part)):
            expected, had_vector = expect(query, rounds), "vectors" in rounds[0].queries
            return judge(paths_of_shard(rounds, part), query, expected, claim, request, ports, had_vector=had_vector)
        case _:
            return plan(rounds, request, ports)


def conclude(picture: Picture, request: FileSearch, ports: FilePorts) -> Sequence[Bell]:
    """Once all steps are closed, add the steps that follow; if none does, settle the job."""
    if picture.record.open_steps > 0:
        return []
    rounds = rounds_of(picture, limit=request.candidates)
    if rounds[-1].plan is not None:
        ports.board.tell(picture.record.job_id, round_event(rounds[-1]))
    names = [str(place) for place in next_steps(rounds, plans=request.mode == "iterative")]
    if names:
        return one_per_queue(add_steps(picture, names, request, ports))
    settle(picture, rounds, request, ports)
    return []
