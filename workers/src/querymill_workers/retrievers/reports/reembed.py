"""Embed a collection's reports with another model, next to the vectors that searches use, then switch to it.

The parts of the collection are steps of one job and run side by side. The last part to end makes the switch. If
reports have been ingested since, it adds a step that embeds them and then switches. If a worker dies, the next attempt
resumes: a report that has all its vectors is skipped.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports.life import PARTS, ReembedReports, ReembedReportsResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Conflict, Mistaken, NotFound
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.stages import stage, used
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.reports.embed import BATCH, Embedded, embed_batch
from querymill_workers.retrievers.reports.ports import ReportPorts

#: The step that embeds what the parts missed, as it was ingested when they ended.
REST: Final = "rest"


class PartNotes(Notes):
    """How many vectors a part made, how many passages were refused, and with how many provider calls and tokens."""

    embedded: int
    set_aside: int = 0
    usage: dict[str, int]


def step(claim: Claim, request: ReembedReports, ports: ReportPorts) -> Sequence[Bell]:
    """Embed one part of the collection, or what the parts missed.

    Raises:
        Mistaken: The workers use another model.
        NotFound: The collection has no reports.
        Conflict: Reports were ingested meanwhile; they are embedded by the next attempt.
    """
    model, collection, life = ports.embeddings, request.collection, ports.report_life
    if request.model != model.model:
        raise Mistaken(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    if ports.reports.searched_by(collection) is None:
        raise NotFound(f"collection: no reports in {collection!r}")
    part, parts = (0, 1) if claim.step == REST else (request.steps.index(claim.step), PARTS)
    reports, embedded = life.lacking(collection, model=model.model, part=part, parts=parts), Embedded()
    for number, document in enumerate(reports, start=1):
        life.add_model(collection, document, model=model.model)
        ports.set_aside.drop(collection, "reports", [document], model=model.model)
        while batch := life.pending(collection, [document], model=model.model, limit=BATCH):
            embedded += embed_batch(batch, model, claim, request, ports)
        life.finish_embedding(collection, document)
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=number, total=len(reports))):
            return []  # cancelled; the next job skips the reports that are done
    notes = PartNotes(embedded=embedded.stored, set_aside=embedded.set_aside, usage=embedded.usage.noted())
    if claim.step == REST and not switched(request, ports):
        raise Conflict("reports were ingested while the collection was embedded")
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board()))
    bells = [] if picture is None else conclude(picture, request, ports)
    if picture is not None and not bells and ports.reports.searched_by(collection) == model.model:
        # This takes a while, and no caller waits for it. If the worker dies, the next run drops the remaining rows.
        life.drop_other_models(collection, model=model.model)
    return bells


def conclude(picture: Picture, request: ReembedReports, ports: ReportPorts) -> Sequence[Bell]:
    """Switch the collection to the model and settle the job, once every part has closed.

    If reports that have no vector of the model were ingested meanwhile, one more step embeds them and switches.
    """
    if not all(step.is_closed for step in picture.steps):
        return []
    failed = [step for step in picture.steps if step.state == "failed"]
    if failed:
        ports.board.settle(picture.record.job_id, lost(picture, failed[0].reason))
        return []
    is_switched = any(step.name == REST for step in picture.steps)
    if not is_switched and not switched(request, ports):
        return add_steps(picture, [REST], request, ports)
    ports.board.settle(picture.record.job_id, done(result_of(picture, request)))
    return []


def switched(request: ReembedReports, ports: ReportPorts) -> bool:
    """Switch the collection to the model, if every report has its vectors. Return whether it has been switched."""
    collection, previous = request.collection, ports.reports.searched_by(request.collection)
    if not ports.report_life.switch(collection, model=request.model):
        return False
    if previous != request.model:
        ports.set_aside.drop(collection, "reports", None, model=previous)
    return True


def result_of(picture: Picture, request: ReembedReports) -> ReembedReportsResult:
    """Build the result from what the parts noted."""
    notes = [PartNotes.of(step) for step in picture.steps]
    return ReembedReportsResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        model=request.model,
        total=sum(part.embedded for part in notes),
        set_aside=sum(part.set_aside for part in notes),
        complete=True,
        stages=tuple(stage(step) for step in picture.steps),
        usage=used(picture),
    )
