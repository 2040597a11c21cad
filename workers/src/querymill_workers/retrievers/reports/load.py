"""Load many reports in one job: each as if it came alone, in a change of its own."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.loading import LoadedDocument
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.reports.load import LoadReports, LoadReportsResult
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.loading import Loading, LoadNotes, ending_of, load_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.ledger.ports import version_of
from querymill_workers.retrievers.reports.ingest import STORED, embed_soon, keep_report
from querymill_workers.retrievers.reports.ports import ReportPorts


def step(claim: Claim, request: LoadReports, ports: ReportPorts) -> Sequence[Bell]:
    """Load reports, and submit the embedding of those that lack a vector."""
    collection, version = request.collection, version_of(claim)

    def store(reports: Sequence[Report]) -> list[LoadedDocument]:
        kept = [(report.sha1, keep_report(collection, report, version, ports)) for report in reports]
        return [LoadedDocument(document=sha1, outcome=notes.outcome, total=notes.total) for sha1, notes in kept]

    # One by one: a change locks what all reports of the collection share, and most reports are large.
    loaded = load_slices(claim, request.reports, Loading(id_of, chars_of, store, together=1), ports)
    if loaded is None:
        return []
    passages = {document.document: document.total for document in loaded if document.outcome in STORED}
    jobs, bells = embed_soon(claim, request, passages, ports)
    hand_in(claim, request, LoadNotes(documents=tuple(loaded), embedding_jobs=tuple(jobs)), ENDING, ports)
    return one_per_queue(bells)


def id_of(report: Report) -> str:
    """Return a report's id."""
    return report.sha1


def chars_of(report: Report) -> int:
    """Return the length of a report's texts."""
    return sum(len(page.text) for page in report.pages)


ENDING: Final = ending_of(LoadReportsResult)
