"""`files`: find the files in a code base that are relevant to a request.

    request ─> search by words, vectors and patterns, side by side
               last search done     ─> choose candidates, each once ─> judge them in shards, side by side
               last judged          ─> plan: enough, or which names next? Gaps first ─> search by name ─> judge ─> …
               enough, no new name, no round left or no tokens left ─> result

Every round measures relevance to the original request. A step understands the request (``query_analysis.py``,
``scope.py``), reads what the rounds before found (``rounds.py``), and does one of three things: recall, judge or plan.
When no step follows, the files are chosen (``choose.py``), their context is joined (``context.py``), an absence is
explained (``why_not.py``), and the result is shown (``show.py``). All are called from here, and none of these modules
calls one that comes before it. The rules are in ``rules/``; the decision after a round is in ``rules/rounds.py``.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.faults import MalformedInput, Refused, Unavailable
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.verdicts import done, lost_search
from querymill_workers.retrievers.files.notes import EvaluationNotes, FileSearchNotes, PlanNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.context import Context
from querymill_workers.retrievers.files.search.choose import choose_files
from querymill_workers.retrievers.files.search.context import join_context
from querymill_workers.retrievers.files.search.judge import judge
from querymill_workers.retrievers.files.search.plan import plan
from querymill_workers.retrievers.files.search.query_analysis import analyze_query, meaning_of
from querymill_workers.retrievers.files.search.recall import recall
from querymill_workers.retrievers.files.search.rounds import (
    Round,
    expect,
    next_steps,
    paths_of_shard,
    rounds_of,
    rounds_until,
)
from querymill_workers.retrievers.files.search.scope import find_scope
from querymill_workers.retrievers.files.search.show import (
    ShownFiles,
    round_event,
    show_files,
    show_result,
    with_metadata,
)
from querymill_workers.retrievers.files.search.why_not import explain_absence

T = TypeVar("T")


def step(claim: Claim, request: FileSearch, ports: FilePorts) -> Sequence[Bell]:
    """Carry out one step of a round, close it and return the bells of the steps that follow."""
    place = FileStep.parse(claim.step)
    if place is None:
        raise Unavailable(f"this release does not know the step {claim.step!r}", code="pending")
    laps = Laps(ports)
    try:
        notes = carry_out(place, claim, request, ports)
    except MalformedInput as error:  # only RE2 can tell that the request holds an invalid pattern
        ending = Verdict("failed", reason=f"patterns: {error}", code=error.code, counts_as=error.counts_as)
        ports.board.settle(claim.job_id, ending)
        return []
    laps.lap(place.stage)
    notes = notes.model_copy(update={"timing": laps.ms})
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts))
    return [] if picture is None else conclude(picture, request, ports)


def carry_out(
    place: FileStep, claim: Claim, request: FileSearch, ports: FilePorts
) -> FileSearchNotes | EvaluationNotes | PlanNotes:
    """Search, judge or plan; return the notes that later steps and the result read."""
    query = analyze_query(meaning_of(request), request.kinds, ports.thesauri["files"])
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
        ports.board.append_event(picture.record.job_id, round_event(rounds[-1]))
    names = [str(place) for place in next_steps(rounds, plans=request.mode == "iterative")]
    if names:
        return one_per_queue(add_steps(picture, names, request, ports))
    settle(picture, rounds, request, ports)
    return []


def settle_late(picture: Picture, request: FileSearch, ports: FilePorts) -> None:
    """End the job at its deadline. The result names each part that is missing because a store is away."""
    settle(picture, rounds_of(picture, limit=request.candidates), request, ports, is_late=True)


def settle(
    picture: Picture, rounds: Sequence[Round], request: FileSearch, ports: FilePorts, *, is_late: bool = False
) -> None:
    """End the job with the files evaluated so far. If no search finished, the job fails and says why.

    Raises:
        Unavailable: A store that the result is read from is away, and the deadline has not passed.
    """
    if not any(search.state == "done" for round_ in rounds for search in round_.searches):
        ports.board.settle(picture.record.job_id, lost_search(picture))
        return
    query = analyze_query(meaning_of(request), request.kinds, ports.thesauri["files"])
    chosen = choose_files(rounds, request)
    hits, low = show_files(chosen, request, ports)
    read = StoredParts(is_late=is_late)
    returned = read.part("metadata", lambda: with_metadata(hits, request, ports), without=hits)
    context = read.part(
        "context", lambda: join_context(chosen.kept[: request.top_n], query, request, ports), without=Context("", ())
    )
    absence = None
    if (path := request.why_not) is not None:
        absence = read.part(
            "why_not",
            lambda: explain_absence(path, find_scope(request, ports), rounds, chosen, request, ports),
            without=None,
        )
    shown = ShownFiles(returned, low, context, absence, tuple(read.missing))
    result = show_result(picture, rounds, query, chosen, shown, request, ports)
    ports.board.settle(picture.record.job_id, done(result, picture))


class StoredParts:
    """What is read from a store for a result. ``missing`` names the parts that could not be read."""

    def __init__(self, *, is_late: bool) -> None:
        self._is_late = is_late
        self.missing: list[Degradation] = []

    def part(self, stage: str, read: Callable[[], T], *, without: T) -> T:
        """Return what is read, or what the result holds ``without`` it.

        Raises:
            Unavailable: The store is away, and there is time to wait for it.
        """
        try:
            return read()
        except (Unavailable, Refused) as error:
            if isinstance(error, Unavailable) and error.cause != "failure" and not self._is_late:
                raise
            self.missing.append(Degradation(stage=stage, reason=str(error), code=error.code))
            return without
