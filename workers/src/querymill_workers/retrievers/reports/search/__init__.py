"""The `reports` kind: find the pages that answer a question. Read this file first.

    question -> original ───────────────────────┐
             -> hyde, synonym, … (chat model) ──┼-> understand -> recall (vectors, words) -> hits on the board
                                                │                └-> no vector in time: words alone
                                                └-> the last branch ranks the hits and settles the job, or adds
                                                    the steps that rerank, and the step that writes the answer

Every branch is a step of its own, and no branch waits for another: the hits of the original are on the board while the
chat model is still writing. A branch chooses the reports and writes its queries (``understand.py``), finds passages
(``recall.py``) and leaves them on the board (``notes.py``). What follows reads the board: it ranks all that was found
(``ranking.py``), chooses the best with their texts (``choose.py``), shows them (``hits.py``), has a judge order them
(``judge.py``), and explains an absence (``why_not.py``) or shows the result (``show.py``). The steps here call each of
these modules, and none calls one that comes after it. The absence searches once more. Rules and formulas: ``rules/``.
Writing the answer: ``services/writing.py``.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Outcome, Picture, Verdict, foresee
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.answer import ANSWER
from querymill_shared.contracts.reports.search import WHY_NOT, ReportSearch
from querymill_shared.contracts.rerank import batch_of, judges_batch
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps, worth_telling
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, ReportPorts
from querymill_workers.retrievers.reports.rules.joining import USUAL_WEIGHT
from querymill_workers.retrievers.reports.search.choose import choose_hits
from querymill_workers.retrievers.reports.search.hits import ShownHit, show_hits, show_to_model
from querymill_workers.retrievers.reports.search.judge import judge_hits, order_by_relevance
from querymill_workers.retrievers.reports.search.notes import BranchNotes
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches
from querymill_workers.retrievers.reports.search.recall import recall_branch
from querymill_workers.retrievers.reports.search.show import show_ranking, show_result
from querymill_workers.retrievers.reports.search.understand import (
    choose_reports,
    describe_route,
    documents_by_query,
    write_queries,
)
from querymill_workers.retrievers.reports.search.why_not import explain_absence
from querymill_workers.services import writing
from querymill_workers.services.judging import is_to_judge
from querymill_workers.text.languages import language_of
from querymill_workers.vectors.question import compared_model
from querymill_workers.vectors.rules.weights import choose_weight


def step(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Sequence[Bell]:
    """Run a step, close it on the board, and continue from the picture of the job."""
    request = as_judged(request, ports)
    is_branch = claim.step in request.steps
    outcome = search_branch(claim, request, ports) if is_branch else run_later_step(claim, request, ports)
    foreseen = foresee(claim, outcome)
    found = None if foreseen is None else FoundByBranches(foreseen, request)
    verdict = None if found is None or next_steps(found) else ending_of(found, ports)
    picture = ports.board.finish(claim, outcome, verdict=verdict)
    return [] if picture is None else conclude(picture, request, ports, after=claim.step)


def search_branch(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Outcome:
    """Run one branch: choose reports, write queries, drop those that another branch searches, embed and search."""
    laps = Laps(ports)
    model = compared_model(EMBEDDABLE, request.collection, ports)
    is_original = claim.step == ORIGINAL
    route = choose_reports(claim, request, ports)
    routing = describe_route(route)
    laps.lap("route")
    try:
        proposed, usage = write_queries(claim, request, ports) if route.documents else ([], ProviderUsage())
    except (Unavailable, Refused) as error:
        log_failure(claim, error)
        laps.lap("expand")
        noted = StepNotes(timing=laps.ms).for_board()
        return Outcome("failed", str(error), notes=noted, ms=laps.total_ms, code=error.code, parts=laps.parts)
    laps.lap("expand")
    # No other branch may propose the original question, so nothing has to be taken for it.
    queries = proposed if is_original else ports.board.take_queries(claim, proposed, rivals=request.expansions)
    documents = documents_by_query(dict.fromkeys(queries, claim.step), route, claim, request, ports)
    found = recall_branch(documents, route, model, claim, request, ports, laps)
    notes = BranchNotes(
        timing=laps.ms,
        texts=() if is_original else tuple(proposed),
        usage=(usage + found.usage).noted(),
        routing=routing,
        unembedded=found.unembedded,
        words=found.recalled.words,
        unvectored="" if found.lacking is None else str(found.lacking),
        unvectored_code=None if found.lacking is None else found.lacking.code,
        sides=route.sides if is_original else (),
        missing=route.missing if is_original else (),
        weight=choose_weight(
            request.vectors_weight,
            ports.vectors["reports"].worth(request.collection, model=model.model),
            usual=USUAL_WEIGHT,
            language=language_of(request.query),
        ),
    )
    return Outcome(hits=found.recalled.hits, notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def run_later_step(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Outcome:
    """Run a step that was added after the branches: a batch of the rerank, the answer, or its judgement."""
    laps = Laps(ports)
    picture = ports.board.picture(claim.job_id)
    found = FoundByBranches(picture, request)
    if judges_batch(claim.step):
        batch = show_hits(choose_hits(found, ports)[batch_of(claim.step)], found)
        return judge_hits(claim, picture, show_to_model(batch, request, ports), request, ports, laps)
    hits = final_hits(found, ports)
    if claim.step == WHY_NOT:
        return explain_absence([hit.ranked.key for hit in hits], found, claim, ports, laps)
    return writing.run_step(claim, request, picture, show_to_model(hits, request, ports), ports)


def final_hits(found: FoundByBranches, ports: ReportPorts) -> list[ShownHit]:
    """Return the hits of the result, in their final order."""
    hits = show_hits(choose_hits(found, ports), found)
    return order_by_relevance(hits, found) if found.request.rerank else hits


def next_steps(found: FoundByBranches) -> Sequence[str]:
    """Return the steps that follow, once no step is open. If none does, the job is to be settled."""
    picture, request = found.picture, found.request
    if found.missing_batches:
        return found.missing_batches
    if found.lacks_why_not:
        return [WHY_NOT]
    step = writing.next_step(picture, request, has_sources=found.has_sources)
    return [] if step is None else [step]


def conclude(picture: Picture, request: ReportSearch, ports: ReportPorts, *, after: str = "") -> Sequence[Bell]:
    """Settle the job if no step follows. Else report the ranking so far, and add the steps that follow."""
    request = as_judged(request, ports)
    found = FoundByBranches(picture, request)
    is_last = picture.record.open_steps <= 0
    follow = next_steps(found) if is_last else []
    if is_last and not follow:
        ports.board.settle(picture.record.job_id, ending_of(found, ports))
        return []
    # Readers see the hits before the answer begins. What comes after the answer does not change them.
    is_early = not follow or judges_batch(follow[0])
    if found.has_hits and (follow == [ANSWER] or (is_early and worth_telling(picture))):
        ports.board.append_event(picture.record.job_id, show_ranking(found, ports, after))
    return add_steps(picture, follow, request, ports) if follow else []


def settle(picture: Picture, request: ReportSearch, ports: ReportPorts) -> None:
    """End the job with what was found. It fails, with the reasons, if no search has finished."""
    ports.board.settle(picture.record.job_id, ending_of(FoundByBranches(picture, as_judged(request, ports)), ports))


def as_judged(request: ReportSearch, ports: ReportPorts) -> ReportSearch:
    """Return a search that says whether its hits are judged: "auto" depends on whether there is a judge."""
    return request.model_copy(update={"rerank": is_to_judge(request, ports)})


def ending_of(found: FoundByBranches, ports: ReportPorts) -> Verdict:
    """Return the verdict of what was found, or why its texts cannot be read.

    Raises:
        Unavailable: The store of the texts is away: the job is settled later.
    """
    try:
        return show_result(final_hits(found, ports), found, ports)
    except Refused as error:
        return Verdict("failed", reason=str(error), code=error.code)
