"""Ingest a report: its passages are found by their words at once, and a job that follows makes their vectors.

Rows, words and the version of the report are one transaction. A passage whose text has not changed keeps its vector.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult, Report
from querymill_workers.documents.burial import bury_replaced
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import Usage
from querymill_workers.ledger.ports import Standing, Subject, Version, version_of
from querymill_workers.retrievers.reports.embed import submit_embedding
from querymill_workers.retrievers.reports.models import models_to_embed_with
from querymill_workers.retrievers.reports.ports import SPACE, PreparedReport, ReportPorts
from querymill_workers.retrievers.reports.rules.aliases import tickers_of
from querymill_workers.retrievers.reports.rules.chunking import Chunk, PageText, chunk_pages
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.retrievers.reports.rules.indexing import group_of, heads, indexed_text
from querymill_workers.retrievers.reports.rules.revisions import content_of
from querymill_workers.words.ports import WordUnit

#: Passages that are indexed by one call.
INDEXED_AT_ONCE: Final = 2_000

IngestOutcome = Literal["ingested", "unchanged", "superseded", "forgotten"]


class IngestNotes(Notes):
    """The notes of the step. A worker of the release before embeds in this step, and counts its usage."""

    outcome: IngestOutcome
    passages: int = 0
    provider_calls: int = 0
    tokens: int = 0


def step(claim: Claim, request: IngestReport, ports: ReportPorts) -> Sequence[Bell]:
    """Ingest one report, and submit a job that makes missing vectors. Unchanged content is not stored again."""
    collection = request.collection
    models = [model.model for model in models_to_embed_with(collection, ports)]
    notes = keep_report(collection, request.report, version_of(claim), models, ports)
    stored = notes.outcome in ("ingested", "unchanged")
    if stored:
        # A worker that stored the report may have been killed before it announced the collection.
        ports.board.add_collections("reports", [collection])
    bells = submit_embedding(claim, request, models, ports) if stored else []
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def keep_report(
    collection: str, report: Report, version: Version, models: Sequence[str], ports: ReportPorts
) -> IngestNotes:
    """Store a report and its words in one change, as far as this version is to stand."""
    prepared = prepare_report(report, ports)
    with ports.ledger.changing(collection, "reports", [subject_of(report)], version) as standings:
        bury_replaced(collection, "reports", standings, ports)
        outcome = store_if_newest(collection, prepared, standings[report.sha1], models, ports)
    return IngestNotes(outcome=outcome, passages=len(prepared.chunks) if outcome == "ingested" else 0)


def prepare_report(report: Report, ports: ReportPorts) -> PreparedReport:
    """Cut a report into passages."""
    chunks = chunk_pages(pages_of(report), count_tokens=ports.count_tokens)
    tickers = tickers_of([page.text for page in report.pages])
    return PreparedReport(report, content_of(report.model_dump_json()), chunks, tickers)


def pages_of(report: Report) -> list[PageText]:
    """Return the pages of a report, as rules read them."""
    return [PageText(page.page, page.text) for page in report.pages]


def subject_of(report: Report) -> Subject:
    """Return what tombstones are matched against."""
    fields = {name: getattr(report, name) for name in ("company", "period", "title", "published_at")}
    return Subject(report.sha1, fields, report.model_extra or {})


def store_if_newest(
    collection: str, prepared: PreparedReport, standing: Standing, models: Sequence[str], ports: ReportPorts
) -> IngestOutcome:
    """Replace the stored report and its words, unless a later write did, or the same content is stored."""
    document = prepared.report.sha1
    if not standing.newest:
        return "forgotten" if standing.forgotten else "superseded"
    if ports.report_life.content(collection, document) == prepared.content:
        return "unchanged"
    entries = ports.report_life.indexed(collection, document)
    ports.report_life.put(collection, prepared, models=models)
    ports.set_aside.drop(collection, "reports", [document])
    surplus = [entry_id(document, number) for number in range(len(prepared.chunks), entries)]
    if surplus:
        ports.words.drop(collection, SPACE, surplus)
    known = heads(pages_of(prepared.report))
    for start in range(0, len(prepared.chunks), INDEXED_AT_ONCE):
        chunks = prepared.chunks[start : start + INDEXED_AT_ONCE]
        ports.words.put(collection, SPACE, index_entries(document, chunks, known))
    return "ingested"


def index_entries(document: str, chunks: Sequence[Chunk], known: Mapping[int, str]) -> list[WordUnit]:
    """Return the entries of passages in the text index, grouped by report. ``known`` has the head of each page."""
    group = group_of(document)
    return [
        WordUnit(entry_id(document, chunk.number), indexed_text(chunk, known.get(chunk.page, "")), group)
        for chunk in chunks
    ]


def to_result(request: IngestReport, picture: Picture, notes: IngestNotes) -> IngestResult:
    """Build the result."""
    return IngestResult(
        job_id=picture.record.job_id,
        total=notes.passages,
        complete=True,
        document=request.report.sha1,
        outcome=notes.outcome,
        usage=Usage(notes.provider_calls, notes.tokens).noted(),
    )


ENDING: Final = Ending(IngestNotes, to_result)
