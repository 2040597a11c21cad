"""The `answer` kind: write an answer to a question from given hits, and cite them.

    hits -> answer -> judge (if requested) -> settle

If no answer can be written, the result holds the hits alone and says why. The steps are in ``writing.py``.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.answer import AnsweredHit, AnswerHit, AnswerQuestion, AnswerResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.stages import missing, stage, timing, used
from querymill_workers.jobs.verdicts import done
from querymill_workers.services import writing
from querymill_workers.services.ports import AnswerPorts
from querymill_workers.services.writing import CitableHit


def step(claim: Claim, request: AnswerQuestion, ports: AnswerPorts) -> Sequence[Bell]:
    """Write the answer or judge it, and finish the step."""
    sources = [CitableHit(hit.id, hit.text, hit.page, hit.title, label=label_of(hit)) for hit in request.hits]
    outcome = writing.run_step(claim, request, ports.board.picture(claim.job_id), sources, ports)
    picture = ports.board.finish(claim, outcome)
    return [] if picture is None else conclude(picture, request, ports)


def label_of(hit: AnswerHit) -> str:
    """Return what the prompt says of a hit, above its text: "Annual report 2022, page 12"."""
    return ", ".join([*([hit.title] if hit.title else []), *([f"page {hit.page}"] if hit.page is not None else [])])


def conclude(picture: Picture, request: AnswerQuestion, ports: AnswerPorts) -> Sequence[Bell]:
    """Add the step that judges the answer, or settle the job."""
    if picture.record.open_steps > 0:
        return []
    next_step = writing.next_step(picture, request, has_sources=True)
    if next_step is not None:
        return add_steps(picture, [next_step], request, ports)
    settle(picture, request, ports)
    return []


def settle(picture: Picture, request: AnswerQuestion, ports: AnswerPorts) -> None:
    """End the job with the hits, and with the answer and its judgement if they were written."""
    written = writing.read_written(picture, request, has_sources=True)
    degraded = (*missing(picture.steps), *written.missing)
    result = AnswerResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=tuple(AnsweredHit(id=hit.id, title=hit.title, page=hit.page, score=hit.score) for hit in request.hits),
        total=len(request.hits),
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(step) for step in picture.steps),
        timing={"queued_ms": timing(picture).get("queued_ms", 0.0)} | written.timing,
        usage=used(picture),
        answer=written.answer,
    )
    ports.board.settle(picture.record.job_id, done(result, picture))
