"""Embed a collection's reports with another model, next to the vectors that searches use, then switch to it.

The parts of the collection are steps of one job and run side by side. The last part to end makes the switch. If a
worker dies, the next attempt resumes: a report that has all its vectors is skipped.
"""

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports.life import PARTS, ReembedReports, ReembedReportsResult
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.stages import stage, used
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.reports.embed import BATCH, Embedded, embed_batch
from querymill_workers.retrievers.reports.ports import ReportPorts


class PartNotes(Notes):
    """How many vectors a part made, how many passages were refused, and with how many provider calls and tokens."""

    embedded: int
    set_aside: int = 0
    usage: dict[str, int]


def step(claim: Claim, request: ReembedReports, ports: ReportPorts) -> None:
    """Embed one part of the collection.

    Raises:
        Refused: The workers use another model, or the collection has no reports.
    """
    model, collection, life = ports.embeddings, request.collection, ports.report_life
    if request.model != model.model:
        raise Refused(f"model: must be the workers' embedding model {model.model!r} (got {request.model!r})")
    if ports.reports.searched_by(collection) is None:
        raise Refused(f"collection: no reports in {collection!r}")
    part = request.steps.index(claim.step)
    reports, embedded = life.lacking(collection, model=model.model, part=part, parts=PARTS), Embedded()
    for number, document in enumerate(reports, start=1):
        life.add_model(collection, document, model=model.model)
        ports.set_aside.drop(collection, "reports", [document], model=model.model)
        while batch := life.pending(collection, [document], model=model.model, limit=BATCH):
            embedded += embed_batch(batch, model, claim, request, ports)
        life.finish_embedding(collection, document)
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=number, total=len(reports))):
            return  # cancelled; the next job skips the reports that are done
    notes = PartNotes(embedded=embedded.stored, set_aside=embedded.set_aside, usage=embedded.usage.noted())
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board()))
    if picture is not None and switch_if_complete(picture, request, ports):
        # This takes a while, and no caller waits for it. If the worker dies, the next run drops the remaining rows.
        life.drop_other_models(collection, model=model.model)


def conclude(picture: Picture, request: ReembedReports, ports: ReportPorts) -> None:
    """Settle the job once every part has closed."""
    switch_if_complete(picture, request, ports)


def switch_if_complete(picture: Picture, request: ReembedReports, ports: ReportPorts) -> bool:
    """Switch the collection to the model and settle the job, once every part has closed.

    Returns whether the collection has been switched.
    """
    if not all(step.is_closed for step in picture.steps):
        return False
    failed = [step for step in picture.steps if step.state == "failed"]
    previous = ports.reports.searched_by(request.collection)
    if failed:
        verdict = lost(picture, failed[0].reason)
    elif not ports.report_life.switch(request.collection, model=request.model):
        reason = (
            f"reports without a vector of {request.model} have been ingested since; run the command again to resume"
        )
        verdict = Verdict("failed", reason=reason, code="pending")
    else:
        verdict = done(result_of(picture, request))
        if previous != request.model:
            ports.set_aside.drop(request.collection, "reports", None, model=previous)
    ports.board.settle(picture.record.job_id, verdict)
    return verdict.state == "done"


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
