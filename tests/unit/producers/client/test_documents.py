"""Stored documents through the client, in a mill in memory."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from querymill import IngestModules, JobFailed, ModuleDocument, ModuleSearch, UnknownCollection
from querymill.cli.documents import table_of
from querymill.cli.terminal import Console
from querymill.testing import MemoryMill
from querymill_shared.contracts.documents import DocumentCard
from tests.fixtures.people import Person, document


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


@pytest.fixture
def crowd(mill: MemoryMill) -> list[str]:
    """Five code documents in the collection c; their ids in order."""
    found = [document("modules", Person.new()) for _ in range(5)]
    for each in found:
        request = IngestModules(collection="c", documents=(ModuleDocument.model_validate(each),))
        mill.submit(request).result(timeout=20)
    return sorted(each["file_path"] for each in found)


def test_documents_are_listed_page_by_page(mill: MemoryMill, crowd: list[str]) -> None:
    first = mill.list("modules", collection="c", limit=3)
    second = mill.list("modules", collection="c", limit=3, cursor=first.cursor)
    assert [card.id for page in (first, second) for card in page.documents] == crowd
    assert (first.total, second.total, second.cursor) == (5, 5, None)


def test_a_filter_chooses_documents(mill: MemoryMill, crowd: list[str]) -> None:
    assert [card.id for card in mill.list("modules", collection="c", filter={"path": crowd[2]}).documents] == [crowd[2]]
    exported = list(mill.export("modules", collection="c", filter={"path": crowd[1:3]}))
    assert [each["file_path"] for each in exported] == crowd[1:3]


def test_a_document_is_shown_as_it_is_exported(mill: MemoryMill, crowd: list[str]) -> None:
    shown = mill.show("modules", crowd[0], collection="c")
    assert shown == next(mill.export("modules", collection="c"))
    with pytest.raises(JobFailed, match="'nobody' is not among the modules of 'c'"):
        mill.show("modules", "nobody", collection="c")


def test_pages_do_not_stay_on_the_board(mill: MemoryMill, crowd: list[str]) -> None:
    before = {job.id for job in mill.recent(limit=100)}
    list(mill.export("modules", collection="c"))
    mill.list("modules", collection="c")
    assert {job.id for job in mill.recent(limit=100)} == before


def test_what_is_dropped_is_gone_and_an_empty_collection_is_not_listed(mill: MemoryMill, crowd: list[str]) -> None:
    assert mill.collections() == {"c": ("modules",)}
    dropped = mill.drop("modules", collection="c", ids=crowd[:2], timeout=20)
    assert (dropped.total, mill.list("modules", collection="c").total) == (2, 3)
    assert mill.drop("modules", collection="c", filter={"path": crowd[2]}, timeout=20).total == 1
    assert mill.drop("modules", collection="c", everything=True, timeout=20).total == 2
    assert mill.collections() == {}
    with pytest.raises(UnknownCollection):
        mill.submit(ModuleSearch(query="harbour", collection="c"))


def test_no_id_is_cut_on_a_narrow_terminal() -> None:
    ids = ["15598d475e0c7680f56298cd0b0f9ee0a1b2c3d4", "src/querymill/a/very/long/path/of/a/source/file.py"]
    cards = [DocumentCard(id=id_, title="Annual report", size=1, unit="pages", metadata={"a": "b" * 50}) for id_ in ids]
    printed = io.StringIO()
    Console(file=printed, width=80).print(table_of(cards))
    assert ids[0] in printed.getvalue()
    first_column = "".join(line[:42].strip() for line in printed.getvalue().splitlines())
    assert ids[1] in first_column


def listed(*cards: DocumentCard, width: int) -> str:
    printed = io.StringIO()
    Console(file=printed, width=width).print(table_of(cards))
    return printed.getvalue()


REPORT = DocumentCard(
    id="15598d475e0c7680f56298cd0b0f9ee0a1b2c3d4",
    title="Annual report 2023",
    when=datetime(2024, 2, 11, tzinfo=UTC),
    size=1,
    unit="pages",
    metadata={"company": "Nordhav", "file": "/srv/filings/2023/annual-report.pdf", "file_sha256": "0" * 64},
)


@pytest.mark.parametrize("width", [80, 160])
def test_a_row_is_whole_and_one_line_high(width: int) -> None:
    printed = listed(REPORT, width=width)
    assert len(printed.splitlines()) == 2
    assert all(value in printed for value in (REPORT.id, "2024-02-11", "1 page"))
    assert "1 pages" not in printed


def test_what_does_not_wait_has_no_column_for_waiting() -> None:
    assert "pending" not in listed(REPORT, width=160)
    assert "3" in listed(REPORT.model_copy(update={"pending": 3}), width=160).split()
