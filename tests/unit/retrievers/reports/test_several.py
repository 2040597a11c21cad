"""Many reports in one job: each is a change of its own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from querymill_shared.contracts.reports.ingest import IngestReports, IngestReportsResult, Report
from querymill_workers.jobs.faults import CallFailed
from querymill_workers.retrievers.reports.ingest import step
from querymill_workers.versions.memory import MemoryVersions
from querymill_workers.versions.ports import Standing, Version, WrittenDocument
from tests.fixtures.world import World, report


def several(*pages_of_each: tuple[str, ...]) -> IngestReports:
    reports = [Report.model_validate(report(f"r{number}", *pages)) for number, pages in enumerate(pages_of_each)]
    return IngestReports(collection="filings", documents=tuple(reports))


class RefusingVersions(MemoryVersions):
    """Refuses the changes of one report, and notes which documents each change is of."""

    changes: list[list[str]]

    @contextmanager
    def changing(
        self, collection: str, kind: str, subjects: Sequence[WrittenDocument], version: Version, *, whole: bool = True
    ) -> Iterator[Mapping[str, Standing]]:
        self.changes.append([subject.document for subject in subjects])
        with super().changing(collection, kind, subjects, version, whole=whole) as standings:
            if self.changes[-1] == ["r1"]:
                raise CallFailed("too much for the server")
            yield standings


def test_a_report_that_cannot_be_stored_fails_alone_and_is_named(world: World) -> None:
    """Each report is a change of its own, so nothing of the others is undone."""
    request, versions = several(("ships",), ("harbours",), ("quays",)), RefusingVersions()
    versions.changes = []
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "ingest")
    assert claim is not None
    bells = step(claim, request, replace(world.ports, versions=versions))
    result = world.result(job_id)
    assert isinstance(result, IngestReportsResult)
    assert versions.changes == [["r0"], ["r1"], ["r2"]]
    assert [(each.document, each.outcome, each.reason) for each in result.documents] == [
        ("r0", "ingested", ""), ("r1", "failed", "too much for the server"), ("r2", "ingested", ""),
    ]  # fmt: skip
    assert (result.complete, [bell.job_id for bell in bells]) == (False, list(result.embedding_jobs))
