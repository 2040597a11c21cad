"""Ingest reports: their passages are found by their words at once, and jobs that follow make their vectors.

Rows, words and the version of a report are one transaction. A passage whose text has not changed keeps its vector.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.ingest import IngestedDocument, IngestOutcome
from querymill_shared.contracts.reports.ingest import IngestReports, IngestReportsResult, Report
from querymill_workers.documents.late_writes import drop_barred
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.ingesting import IngestNotes, ending_of, ingest_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.reports.entry import entry_of
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, SPACE, PreparedReport, ReportPorts
from querymill_workers.retrievers.reports.rules.aliases import tickers_of
from querymill_workers.retrievers.reports.rules.chunking import CHUNKING_VERSION, Chunk, PageText, chunk_pages
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.retrievers.reports.rules.indexing import INDEXING_VERSION, group_of, heads, indexed_text
from querymill_workers.vectors.embedding import submit_embedding
from querymill_workers.versions.ports import Standing, Version, version_of
from querymill_workers.words.ports import WordUnit

#: Passages that are indexed by one call.
INDEXED_AT_ONCE: Final = 2_000

#: The outcomes after which a report is stored.
STORED: Final[Sequence[IngestOutcome]] = ("ingested", "unchanged")


def step(claim: Claim, request: IngestReports, ports: ReportPorts) -> Sequence[Bell]:
    """Ingest reports, and submit the embedding of those that lack a vector. Unchanged content is not stored again."""
    collection, version = request.collection, version_of(claim)

    def store(reports: Sequence[Report]) -> list[IngestedDocument]:
        return [keep_report(collection, report, version, ports) for report in reports]

    # One by one: a change locks what all reports of the collection share, and most reports are large.
    ingested = ingest_slices(claim, request.documents, store, ports, per_slice=1)
    if ingested is None:
        return []
    passages = {document.document: document.total for document in ingested if document.outcome in STORED}
    jobs, bells = embed_soon(claim, request, passages, ports)
    hand_in(claim, request, IngestNotes(documents=tuple(ingested), embedding_jobs=tuple(jobs)), ENDING, ports)
    return one_per_queue(bells)


def keep_report(collection: str, report: Report, version: Version, ports: ReportPorts) -> IngestedDocument:
    """Store a report and its words in one change, as far as this version is to stand."""
    prepared, entry = prepare_report(report, ports), entry_of(report)
    with ports.versions.changing(collection, "reports", [entry], version) as standings:
        drop_barred(collection, "reports", standings, ports)
        outcome = store_if_newest(collection, prepared, standings[report.sha1], ports)
        if outcome == "ingested":
            ports.documents["reports"].put(collection, [(entry, prepared.revision)])
    return IngestedDocument(
        document=report.sha1, outcome=outcome, total=len(prepared.chunks) if outcome == "ingested" else 0
    )


def embed_soon(
    claim: Claim, request: IngestReports, passages: Mapping[str, int], ports: ReportPorts
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


def store_if_newest(
    collection: str, prepared: PreparedReport, standing: Standing, ports: ReportPorts
) -> IngestOutcome:  # fmt: skip
    """Replace the stored report and its words, unless a later write did, or the same content is stored."""
    document = prepared.report.sha1
    if not standing.newest:
        return "forgotten" if standing.forgotten else "superseded"
    if ports.documents["reports"].revisions(collection, [document]).get(document) == prepared.revision:
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


ENDING: Final = ending_of(IngestReportsResult)
