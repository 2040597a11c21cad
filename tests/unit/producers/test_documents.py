"""Stored documents through the client, in a mill in memory."""

from collections.abc import Iterator

import pytest

from querymill import IngestModule, JobFailed, ModuleDocument, ModuleSearch, UnknownCollection
from querymill.testing import MemoryMill
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
        request = IngestModule(collection="c", document=ModuleDocument.model_validate(each))
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
    before = {job.id for job in mill.recent(most=100)}
    list(mill.export("modules", collection="c"))
    mill.list("modules", collection="c")
    assert {job.id for job in mill.recent(most=100)} == before


def test_what_is_dropped_is_gone_and_an_empty_collection_is_not_listed(mill: MemoryMill, crowd: list[str]) -> None:
    assert mill.collections() == {"c": ("modules",)}
    dropped = mill.drop("modules", collection="c", ids=crowd[:2], timeout=20)
    assert (dropped.total, mill.list("modules", collection="c").total) == (2, 3)
    assert mill.drop("modules", collection="c", filter={"path": crowd[2]}, timeout=20).total == 1
    assert mill.drop("modules", collection="c", everything=True, timeout=20).total == 2
    assert mill.collections() == {}
    with pytest.raises(UnknownCollection):
        mill.submit(ModuleSearch(query="harbour", collection="c"))
