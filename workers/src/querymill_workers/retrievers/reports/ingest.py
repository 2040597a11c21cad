"""Ingest a report: its passages are found by their words at once, and a job that follows makes their vectors.

Rows, words and the version of the report are one transaction. A passage whose text has not changed keeps its vector.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.fields import Growing
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult, Report
from querymill_shared.contracts.reports.load import LoadReports
from querymill_workers.documents.late_writes import bury_replaced
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.ledger.ports import Standing, Subject, Version, version_of
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, SPACE, PreparedReport, ReportPorts
from querymill_workers.retrievers.reports.rules.aliases import tickers_of
from querymill_workers.retrievers.reports.rules.chunking import CHUNKING_VERSION, Chunk, PageText, chunk_pages
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.retrievers.reports.rules.indexing import INDEXING_VERSION, group_of, heads, indexed_text
from querymill_workers.vectors.embedding import submit_embedding
from querymill_workers.words.ports import WordUnit

#: Passages that are indexed by one call.
INDEXED_AT_ONCE: Final = 2_000

IngestOutcome = Literal["ingested", "unchanged", "superseded", "forgotten"]
#: The outcomes after which a report is stored.
STORED: Final[Sequence[IngestOutcome]] = ("ingested", "unchanged")


class IngestNotes(Notes):
    """What ingestion did, and the id of the job that makes the missing vectors."""

    outcome: Annotated[IngestOutcome, Growing]
    total: int
    embedding_job: str | None = None


def step(claim: Claim, request: IngestReport, ports: ReportPorts) -> Sequence[Bell]:
    """Ingest one report, and submit a job that makes missing vectors. Unchanged content is not stored again."""
    notes = keep_report(request.collection, request.report, version_of(claim), ports)
    passages = {request.report.sha1: notes.total} if notes.outcome in STORED else {}
    jobs, bells = embed_soon(claim, request, passages, ports)
    hand_in(claim, request, notes.model_copy(update={"embedding_job": jobs[0] if jobs else None}), ENDING, ports)
    return bells


def keep_report(collection: str, report: Report, version: Version, ports: ReportPorts) -> IngestNotes:
    """Store a report and its words in one change, as far as this version is to stand."""
    prepared = prepare_report(report, ports)
    with ports.ledger.changing(collection, "reports", [subject_of(report)], version) as standings:
        bury_replaced(collection, "reports", standings, ports)
        outcome = store_if_newest(collection, prepared, standings[report.sha1], ports)
    return IngestNotes(outcome=outcome, total=len(prepared.chunks) if outcome == "ingested" else 0)


def embed_soon(
    claim: Claim, request: IngestReport | LoadReports, passages: Mapping[str, int], ports: ReportPorts
) -> tuple[Sequence[str], Sequence[Bell]]:
    """Announce the collection of stored reports, and submit jobs that make their missing vectors.

    ``passages`` is the number of passages of each, roughly. Returns the ids of these jobs, and the bells of new ones.
    """
    if not passages:
        return [], []
    # Also of unchanged reports: a worker that stored one may have been killed before this.
    ports.board.add_collections("reports", [request.collection])
    return submit_embedding(EMBEDDABLE, request.collection, passages, ports, lane=request.lane, token=claim.job_id)


def prepare_report(report: Report, ports: ReportPorts) -> PreparedReport:
    """Cut a report into passages."""
    chunks = chunk_pages(pages_of(report), count_tokens=ports.count_tokens)
    tickers = tickers_of([page.text for page in report.pages])
    return PreparedReport(report, revision_of(report), chunks, tickers)


def revision_of(report: Report) -> Revision:
    """Hash a report, together with the versions of what shapes its passages and their words."""
    shaped = f"{CHUNKING_VERSION}.{INDEXING_VERSION}\n{report.model_dump_json()}"
    return Revision(hashlib.sha256(shaped.encode()).hexdigest())


def pages_of(report: Report) -> list[PageText]:
    """Return the pages of a report, as rules read them."""
    return [PageText(page.page, page.text) for page in report.pages]


def subject_of(report: Report) -> Subject:
    """Return what tombstones are matched against."""
    fields = {name: getattr(report, name) for name in ("company", "period", "title", "published_at")}
    return Subject(report.sha1, fields, report.model_extra or {})


def store_if_newest(
    collection: str, prepared: PreparedReport, standing: Standing, ports: ReportPorts
) -> IngestOutcome:  # fmt: skip
    """Replace the stored report and its words, unless a later write did, or the same content is stored."""
    document = prepared.report.sha1
    if not standing.newest:
        return "forgotten" if standing.forgotten else "superseded"
    if ports.report_life.revision(collection, document) == prepared.revision:
        return "unchanged"
    entries = ports.report_life.indexed(collection, document)
    ports.report_life.put(collection, prepared)
    ports.vectors["reports"].retry(collection, documents=[document])
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
        total=notes.total,
        complete=True,
        document=request.report.sha1,
        outcome=notes.outcome,
        embedding_job=notes.embedding_job,
    )


ENDING: Final = Ending(IngestNotes, to_result)
