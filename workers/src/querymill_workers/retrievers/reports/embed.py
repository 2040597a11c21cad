"""Embed the passages of a report that have no vector, in a job that ingestion submits.

The job reads what is pending before every batch. So it stops within one batch when the report is dropped, and embeds
the new passages when the report is replaced. If a worker dies, the next attempt resumes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Request
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.reports.life import EmbedReports, EmbedReportsResult, embedding_key, embedding_of
from querymill_shared.contracts.reports.load import LoadReports
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.reports.models import models_to_embed_with
from querymill_workers.retrievers.reports.ports import PendingPassage, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.set_aside.ports import AsideText

#: Passages per embedding call. Small, so that a question waits only briefly behind a call on a shared server.
BATCH: Final = 8


class EmbedNotes(Notes):
    """How many vectors the job made, how many passages were refused, and with how many provider calls and tokens."""

    total: int
    set_aside: int = 0
    usage: dict[str, int]


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of passages: how many have their vectors, how many a provider refused, and the usage."""

    stored: int = 0
    set_aside: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: "Embedded") -> "Embedded":
        return Embedded(self.stored + other.stored, self.set_aside + other.set_aside, self.usage + other.usage)


def step(claim: Claim, request: EmbedReports, ports: ReportPorts) -> None:
    """Embed the report's pending passages, with each model that its collection needs."""
    collection, document = request.collection, request.document
    models, life = models_to_embed_with(collection, ports), ports.report_life
    total = sum(life.count_pending(collection, document, model=model.model) for model in models)
    embedded = Embedded()
    for model in models:
        while batch := life.pending(collection, document, model=model.model, limit=BATCH):
            embedded += embed_batch(batch, model, claim, request, ports)
            done = embedded.stored + embedded.set_aside
            if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=max(done, total))):
                return  # cancelled; the vectors so far stay
    life.finish_embedding(collection, document)
    notes = EmbedNotes(total=embedded.stored, set_aside=embedded.set_aside, usage=embedded.usage.noted())
    hand_in(claim, request, notes, ENDING, ports)


def embed_batch(
    batch: Sequence[PendingPassage], model: Embeddings, claim: Claim, request: Request, ports: ReportPorts
) -> Embedded:
    """Embed passages of one report, and store their vectors. What the provider refuses is set aside with its reason."""
    collection, texts = request.collection, [passage.text for passage in batch]
    found, usage = embed_each(texts, model, input_type="passage", caller=Caller.of(claim, request, ports))
    vectors = {passage: one for passage, one in zip(batch, found, strict=True) if not isinstance(one, Refusal)}
    refused = {passage: one.reason for passage, one in zip(batch, found, strict=True) if isinstance(one, Refusal)}
    if vectors:
        ports.report_life.fill(collection, list(vectors), np.stack(list(vectors.values())))
    if refused:
        texts_aside = [
            AsideText(passage.document, entry_id(passage.document, passage.number), model.model, reason)
            for passage, reason in refused.items()
        ]
        ports.set_aside.add(collection, "reports", texts_aside)
        ports.report_life.set_aside(collection, list(refused))
    return Embedded(len(vectors), len(refused), usage)


def submit_embedding(claim: Claim, request: IngestReport, models: Sequence[str], ports: ReportPorts) -> Sequence[Bell]:
    """Submit the job that embeds a report, if a vector is missing. Return the bells of a new job."""
    collection, document = request.collection, request.report.sha1
    if not any(ports.report_life.pending(collection, document, model=model, limit=1) for model in models):
        return []
    _, bells = submit_once(embedding_of(request), embedding_key(claim.job_id), ports)
    return bells


def submit_embedding_of_each(
    claim: Claim, request: LoadReports, documents: Sequence[str], models: Sequence[str], ports: ReportPorts
) -> tuple[list[str], list[Bell]]:
    """Submit a job for each report that lacks a vector. Return the jobs, and the bells of the new ones."""
    collection, jobs, bells = request.collection, list[str](), list[Bell]()
    for document in documents:
        if any(ports.report_life.pending(collection, document, model=model, limit=1) for model in models):
            follow_up = EmbedReports(collection=collection, document=document, lane=request.lane)
            job_id, new = submit_once(follow_up, f"{embedding_key(claim.job_id)} of {document}", ports)
            jobs += [] if job_id is None else [job_id]
            bells += new
    return jobs, bells


def to_result(request: EmbedReports, picture: Picture, notes: EmbedNotes) -> EmbedReportsResult:
    """Build the result from the notes."""
    return EmbedReportsResult(
        job_id=picture.record.job_id,
        document=request.document,
        total=notes.total,
        set_aside=notes.set_aside,
        usage=notes.usage,
        complete=True,
    )


ENDING: Final = Ending(EmbedNotes, to_result)
