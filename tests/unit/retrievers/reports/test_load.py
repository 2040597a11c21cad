"""Many reports in one job: what each becomes, and which jobs make their vectors."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.loading import MAX_CHARS
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.reports.load import LoadReports, LoadReportsResult
from querymill_shared.contracts.vectors import EmbedDocumentsResult
from querymill_workers.jobs.faults import Failed
from querymill_workers.ledger.memory import MemoryLedger
from querymill_workers.ledger.ports import Standing, Subject, Version
from querymill_workers.retrievers.reports.load import step
from querymill_workers.retrievers.reports.ports import SPACE
from tests.fixtures.world import World, report


def load_of(*pages_of_each: tuple[str, ...]) -> LoadReports:
    reports = [Report.model_validate(report(f"r{number}", *pages)) for number, pages in enumerate(pages_of_each)]
    return LoadReports(collection="filings", reports=tuple(reports))


def load(world: World, request: LoadReports) -> LoadReportsResult:
    """Load reports, and work on the jobs that follow."""
    job_id = world.submit(request)
    world.ring(job_id, request, "load")
    result = world.result(job_id)
    assert isinstance(result, LoadReportsResult)
    return result


def test_each_report_is_found_and_one_job_makes_the_vectors_of_several(world: World) -> None:
    result = load(world, load_of(("ships", "cranes"), ("harbours",)))
    assert [(each.document, each.outcome, each.total) for each in result.documents] == [
        ("r0", "ingested", 2), ("r1", "ingested", 1),
    ]  # fmt: skip
    assert result.complete
    assert [made(world, job_id).total for job_id in result.embedding_jobs] == [3]
    assert world.reports.vectors.counts("filings", model="words").pending == 0
    assert [hit.id for hit in world.words.search("filings", SPACE, "harbours", limit=9)] == ["r1/chunk/0"]


def test_what_is_loaded_again_is_unchanged_and_embedded_once(world: World) -> None:
    load(world, load_of(("ships",), ("harbours",)))
    again = load(world, load_of(("ships",), ("quays",)))
    assert [each.outcome for each in again.documents] == ["unchanged", "ingested"]
    assert len(again.embedding_jobs) == 1
    assert len(world.embeddings.asked) == 3


def test_a_load_that_is_tried_again_asks_for_the_same_jobs(world: World) -> None:
    request = load_of(("ships",), ("harbours",))
    claim = world.board.claim(world.submit(request), "load")
    assert claim is not None
    assert len(step(claim, request, world.ports)) == 1
    assert list(step(claim, request, world.ports)) == []


def made(world: World, job_id: str) -> EmbedDocumentsResult:
    result = world.result(job_id)
    assert isinstance(result, EmbedDocumentsResult)
    return result


class RefusingLedger(MemoryLedger):
    """Refuses the changes of one report, and notes which documents each change is of."""

    changes: list[list[str]]

    @contextmanager
    def changing(
        self, collection: str, kind: str, subjects: Sequence[Subject], version: Version, *, whole: bool = True
    ) -> Iterator[Mapping[str, Standing]]:
        self.changes.append([subject.document for subject in subjects])
        with super().changing(collection, kind, subjects, version, whole=whole) as standings:
            if self.changes[-1] == ["r1"]:
                raise Failed("too much for the server")
            yield standings


def test_a_report_that_cannot_be_stored_fails_alone_and_is_named(world: World) -> None:
    """Each report is a change of its own, so nothing of the others is undone."""
    request, ledger = load_of(("ships",), ("harbours",), ("quays",)), RefusingLedger()
    ledger.changes = []
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "load")
    assert claim is not None
    bells = step(claim, request, replace(world.ports, ledger=ledger))
    result = world.result(job_id)
    assert isinstance(result, LoadReportsResult)
    assert ledger.changes == [["r0"], ["r1"], ["r2"]]
    assert [(each.document, each.outcome, each.reason) for each in result.documents] == [
        ("r0", "ingested", ""), ("r1", "failed", "too much for the server"), ("r2", "ingested", ""),
    ]  # fmt: skip
    assert (result.complete, [bell.job_id for bell in bells]) == (False, list(result.embedding_jobs))


def test_no_report_stands_twice_in_a_job_and_their_texts_are_bounded_together() -> None:
    made = report("r", "ships")
    with pytest.raises(ValidationError, match="reports: every id must occur once"):
        LoadReports.model_validate({"collection": "filings", "reports": [made, made]})
    long = "x" * (MAX_CHARS // 2 + 1)
    with pytest.raises(ValidationError, match="reports: texts must be at most 2000000 characters together"):
        load_of((long,), (long,))
    assert len(load_of((long, long)).reports) == 1
