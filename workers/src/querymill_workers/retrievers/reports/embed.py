"""Embed the passages of reports that have no vector, in jobs that ingestion submits: of one report, or of a load's.

A job reads what is pending before every batch. So it stops embedding a report within one batch when that is dropped,
and embeds the new passages when it is replaced. If a worker dies, the next attempt resumes.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from typing import Any, Final

import numpy as np

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Request
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.reports.life import (
    EmbedLoadedReports,
    EmbedLoadedReportsResult,
    EmbedReports,
    EmbedReportsResult,
    embedding_key,
    embedding_of,
)
from querymill_shared.contracts.reports.load import LoadReports
from querymill_shared.values import frozen
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import Embedded as Result
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.ledger.ports import Subject, Version
from querymill_workers.retrievers.reports.models import models_to_embed_with
from querymill_workers.retrievers.reports.ports import PendingPassage, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.retrievers.reports.rules.revisions import content_in
from querymill_workers.set_aside.ports import AsideText

#: Passages per embedding call. Small, so that a question waits only briefly behind a call on a shared server.
BATCH: Final = 8
#: Passages that one job embeds of many reports: a few at a time, so that the workers share those of a load.
JOB_PASSAGES: Final = 16 * BATCH
#: About so many characters of a report are one passage.
PASSAGE_CHARS: Final = 1_000
#: Embedding writes no version of a report: it only keeps others from changing it.
_NO_VERSION: Final = Version(0, "")


class EmbedNotes(Notes):
    """How many vectors the job made, how many passages were refused, and with how many provider calls and tokens."""

    total: int
    set_aside: int = 0
    usage: dict[str, int]


@frozen
class Embedded:
    """What became of passages: how many have their vectors, how many a provider refused, and the usage."""

    stored: int = 0
    set_aside: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: "Embedded") -> "Embedded":
        return Embedded(self.stored + other.stored, self.set_aside + other.set_aside, self.usage + other.usage)


def step(claim: Claim, request: EmbedReports, ports: ReportPorts) -> None:
    """Embed the report's pending passages, with each model that its collection needs."""
    embed_reports(claim, request, [request.document], ENDING, ports)


def step_of_many(claim: Claim, request: EmbedLoadedReports, ports: ReportPorts) -> None:
    """Embed the pending passages of many reports, those of several in one call."""
    embed_reports(claim, request, request.documents, ENDING_OF_MANY, ports)


def embed_reports(
    claim: Claim,
    request: EmbedReports | EmbedLoadedReports,
    documents: Sequence[str],
    ending: Ending[Any, EmbedNotes],
    ports: ReportPorts,
) -> None:
    """Embed what is pending in reports, and close the step."""
    collection = request.collection
    models, life = models_to_embed_with(collection, ports), ports.report_life
    total = sum(life.count_pending(collection, documents, model=model.model) for model in models)
    embedded = Embedded()
    for model in models:
        while batch := life.pending(collection, documents, model=model.model, limit=BATCH):
            embedded += embed_batch(batch, model, claim, request, ports)
            done = embedded.stored + embedded.set_aside
            if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=max(done, total))):
                return  # cancelled; the vectors so far stay
    notes = EmbedNotes(total=embedded.stored, set_aside=embedded.set_aside, usage=embedded.usage.noted())
    hand_in(claim, request, notes, ending, ports)


def embed_batch(
    batch: Sequence[PendingPassage], model: Embeddings, claim: Claim, request: Request, ports: ReportPorts
) -> Embedded:
    """Embed passages, report by report, and store their vectors. What the provider refuses is set aside."""
    texts = [passage.text for passage in batch]
    found, usage = embed_each(texts, model, input_type="passage", caller=Caller.of(claim, request, ports))
    results = dict(zip(batch, found, strict=True))
    for _, passages in groupby(batch, lambda passage: passage.document):
        settle({passage: results[passage] for passage in passages}, model.model, request.collection, ports)
    refused = sum(isinstance(result, Refusal) for result in found)
    return Embedded(len(found) - refused, refused, usage)


def settle(results: Mapping[PendingPassage, Result], model: str, collection: str, ports: ReportPorts) -> None:
    """Store in one change what became of passages of one report. Of one that was dropped since, nothing is stored."""
    vectors = {passage: result for passage, result in results.items() if not isinstance(result, Refusal)}
    refused = {passage: result.reason for passage, result in results.items() if isinstance(result, Refusal)}
    first, life = next(iter(results)), ports.report_life
    with ports.ledger.changing(collection, "reports", [Subject(first.document)], _NO_VERSION, whole=False):
        if vectors:
            life.fill(collection, list(vectors), np.stack(list(vectors.values())))
        if refused and life.content(collection, first.document) == content_in(first.revision):
            texts_aside = [
                AsideText(passage.document, entry_id(passage.document, passage.number), model, reason)
                for passage, reason in refused.items()
            ]
            ports.set_aside.add(collection, "reports", texts_aside)
            life.set_aside(collection, list(refused))
        life.finish_embedding(collection, first.document)


def submit_embedding(claim: Claim, request: IngestReport, models: Sequence[str], ports: ReportPorts) -> Sequence[Bell]:
    """Submit the job that embeds a report, if a vector is missing. Return the bells of a new job."""
    collection, document = request.collection, request.report.sha1
    if not any(ports.report_life.pending(collection, [document], model=model, limit=1) for model in models):
        return []
    _, bells = submit_once(embedding_of(request), embedding_key(claim.job_id), ports)
    return bells


def submit_embedding_of_many(
    claim: Claim, request: LoadReports, documents: Sequence[str], models: Sequence[str], ports: ReportPorts
) -> tuple[list[str], list[Bell]]:
    """Submit jobs that embed the stored reports of a load, several in each. Return the jobs, and bells of new ones."""
    collection, jobs, bells = request.collection, list[str](), list[Bell]()
    stored = set(documents)
    passages = {
        report.sha1: sum(len(page.text) for page in report.pages) // PASSAGE_CHARS + 1
        for report in request.reports
        if report.sha1 in stored
    }
    for part in parts_of(passages):
        if any(ports.report_life.pending(collection, part, model=model, limit=1) for model in models):
            follow_up = EmbedLoadedReports(collection=collection, documents=part, lane=request.lane)
            # A later attempt of the load asks for the same jobs.
            asked = hashlib.sha256(" ".join(part).encode()).hexdigest()[:32]
            job_id, new = submit_once(follow_up, f"{embedding_key(claim.job_id)} of {asked}", ports)
            jobs += [] if job_id is None else [job_id]
            bells += new
    return jobs, bells


def parts_of(passages: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Cut reports into parts of about `JOB_PASSAGES` passages, in their order.

    For example, reports of 50, 50, 50 and 1,000 passages become parts of two reports, one and one.
    """
    part: list[str] = []
    total = 0
    for document, count in passages.items():
        if part and total + count > JOB_PASSAGES:
            yield tuple(part)
            part, total = [], 0
        part.append(document)
        total += count
    if part:
        yield tuple(part)


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


def to_result_of_many(_: EmbedLoadedReports, picture: Picture, notes: EmbedNotes) -> EmbedLoadedReportsResult:
    """Build the result from the notes."""
    return EmbedLoadedReportsResult(
        job_id=picture.record.job_id, total=notes.total, set_aside=notes.set_aside, usage=notes.usage, complete=True
    )


ENDING: Final = Ending(EmbedNotes, to_result)
ENDING_OF_MANY: Final = Ending(EmbedNotes, to_result_of_many)
