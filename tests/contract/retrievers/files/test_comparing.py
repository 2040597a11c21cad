"""What a comparison leaves of unchanged files, whatever comes late or again: in memory and on PostgreSQL."""

from collections.abc import Mapping
from typing import Any

import pytest

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.files.ingest import CompareFiles, CompareFilesResult, SourceFile
from querymill_shared.contracts.jobs import JobRequest, decode_result
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.run_step import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.files.ingest import store_files
from querymill_workers.retrievers.files.ports import KIND
from querymill_workers.versions.ports import Version
from tests.fixtures.document_suite import run

#: Accepted before every job of the board.
OLD, OLDER = Version(2, "old"), Version(1, "older")


def store(ports: Ports, collection: str, version: Version, **contents: str) -> Mapping[str, str]:
    files = [SourceFile(path=path, content=content) for path, content in contents.items()]
    outcomes, _ = store_files(collection, files, version, ports)
    return {outcome.document: outcome.outcome for outcome in outcomes}


def list_of(collection: str, **contents: str) -> CompareFiles:
    """Return the list of a whole code base."""
    hashes = {path: SourceFile(path=path, content=content).sha256 for path, content in contents.items()}
    return CompareFiles(collection=collection, files=hashes, remove=True)


def compare(ports: Ports, collection: str, **contents: str) -> CompareFilesResult:
    result = ports.board.result(run(ports, list_of(collection, **contents)))
    assert result is not None
    compared = decode_result(result)
    assert isinstance(compared, CompareFilesResult)
    return compared


def run_late(ports: Ports, job_id: str, request: JobRequest) -> None:
    for step in request.steps:
        run_step(Bell(job_id, step, request.queue_of(step)), ports)
    assert ports.board.picture(job_id).record.state == "done"


def contents(ports: Ports, collection: str) -> Mapping[str, str]:
    found = ports.files.contents(collection, ["a", "b"])
    assert ports.documents[KIND].revisions(collection).keys() == found.keys()
    return found


def test_an_ingestion_that_is_repeated_after_a_comparison_leaves_what_it_stored(ports: Ports, collection: str) -> None:
    store(ports, collection, OLD, a="soup", b="ships")
    assert compare(ports, collection, a="soup").removed == ("b",)
    store(ports, collection, OLD, a="soup", b="ships")
    assert contents(ports, collection) == {"a": "soup"}


def test_an_older_ingestion_that_comes_after_a_comparison_leaves_what_is_stored(ports: Ports, collection: str) -> None:
    store(ports, collection, OLD, a="soup")
    assert compare(ports, collection, a="soup").changed == ()
    store(ports, collection, OLDER, a="tea", b="ships")
    assert contents(ports, collection) == {"a": "soup"}


def test_a_file_that_is_replaced_while_a_code_base_is_compared_is_a_changed_one(
    ports: Ports, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older ingestion comes between the tombstone of the list and the confirmation of its files."""
    store(ports, collection, OLD, a="soup", b="ships")
    honest = ports.documents[KIND].revisions

    def revisions(*given: Any) -> Any:
        known = honest(*given)
        monkeypatch.setattr(ports.documents[KIND], "revisions", honest)
        store(ports, collection, OLDER, a="tea")
        return known

    monkeypatch.setattr(ports.documents[KIND], "revisions", revisions)
    assert compare(ports, collection, a="soup", b="ships").changed == ("a",)
    assert contents(ports, collection) == {"b": "ships"}


@pytest.mark.parametrize("fields", [{"ids": ("a", "b")}, {"everything": True}, {"filter": {"path": {"prefix": ""}}}])
def test_a_drop_that_comes_after_a_later_comparison_leaves_the_files_that_it_listed(
    ports: Ports, collection: str, fields: dict[str, Any]
) -> None:
    store(ports, collection, OLD, a="soup")
    dropping = DropDocuments(collection=collection, retriever=KIND, **fields)
    late, _ = ports.board.submit(dropping)
    assert compare(ports, collection, a="soup").changed == ()
    run_late(ports, late, dropping)
    assert contents(ports, collection) == {"a": "soup"}


def test_a_comparison_that_comes_after_a_later_drop_brings_nothing_back(ports: Ports, collection: str) -> None:
    store(ports, collection, OLD, a="soup", b="ships")
    comparing = list_of(collection, a="soup", b="ships")
    late, _ = ports.board.submit(comparing)
    run(ports, DropDocuments(collection=collection, retriever=KIND, ids=("a",)))
    run_late(ports, late, comparing)
    store(ports, collection, OLD, a="soup", b="ships")
    assert contents(ports, collection) == {"b": "ships"}
    run(ports, DropDocuments(collection=collection, retriever=KIND, ids=("b",)))
    assert contents(ports, collection) == {}
