"""Listing, showing and exporting, in memory."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.documents import (
    DocumentList,
    DocumentPage,
    DropDocuments,
    ExportDocuments,
    ListDocuments,
    ShowDocument,
    ShownDocument,
)
from querymill_workers.documents import reading
from tests.fakes.documents import KeptBody
from tests.fixtures.world import World


@pytest.fixture
def kept(world: World) -> KeptBody:
    documents = KeptBody()
    documents.put("c", **{f"d{number}": {"title": f"T{number}", "even": number % 2 == 0} for number in range(5)})
    world.with_ports(documents={"messages": documents.documents}, bodies={"messages": documents})
    return documents


def page(world: World, request: ListDocuments) -> DocumentList:
    found = world.result(world.run(request))
    assert isinstance(found, DocumentList)
    return found


def exported(world: World, request: ExportDocuments) -> DocumentPage:
    found = world.result(world.run(request))
    assert isinstance(found, DocumentPage)
    return found


def test_a_list_goes_on_where_its_cursor_says(world: World, kept: KeptBody) -> None:
    request = ListDocuments(collection="c", retriever="messages", limit=2)
    pages = [page(world, request)]
    while pages[-1].cursor is not None:
        pages.append(page(world, request.model_copy(update={"cursor": pages[-1].cursor})))
    assert [[card.id for card in found.documents] for found in pages] == [["d0", "d1"], ["d2", "d3"], ["d4"]]
    assert {found.total for found in pages} == {5}


def test_a_list_under_a_filter_counts_what_passes(world: World, kept: KeptBody) -> None:
    found = page(world, ListDocuments(collection="c", retriever="messages", filter={"even": True}, limit=3))
    assert ([card.id for card in found.documents], found.total, found.cursor) == (["d0", "d2", "d4"], 3, None)


@pytest.mark.parametrize("cursor", ["rubbish", "", "bnVsbA==", "WzEsMl0="])
def test_a_cursor_that_no_page_gave_is_refused(cursor: str) -> None:
    with pytest.raises(ValidationError, match="cursor"):
        ListDocuments(collection="c", retriever="messages", cursor=cursor)


def test_the_cursor_of_another_list_is_refused() -> None:
    cursor = ListDocuments(collection="c", retriever="messages").cursor_after("d1")
    assert ListDocuments(collection="c", retriever="messages", cursor=cursor).after == "d1"
    for other in ({"collection": "d"}, {"retriever": "files"}, {"filter": {"a": 1}}):
        with pytest.raises(ValidationError, match="cursor: is that of another list"):
            ListDocuments.model_validate({"collection": "c", "retriever": "messages", "cursor": cursor} | other)


def test_a_filter_fits_the_kind_that_is_listed() -> None:
    soon = {"filter": {"published_at": "soon"}, "collection": "c"}
    assert ListDocuments.model_validate(soon | {"retriever": "messages"})
    with pytest.raises(ValidationError, match="filter: published_at: must be a day"):
        ListDocuments.model_validate(soon | {"retriever": "reports"})
    with pytest.raises(ValidationError, match="filter: published_at: must be a day"):
        DropDocuments.model_validate(soon | {"retriever": "reports"})


def test_an_export_is_whole_page_by_page(world: World, kept: KeptBody) -> None:
    request = ExportDocuments(collection="c", retriever="messages", limit=3)
    first = exported(world, request)
    last = exported(world, request.model_copy(update={"cursor": first.cursor}))
    assert [*first.documents, *last.documents] == list(kept.stored["c"].values())
    assert (first.total, last.total, last.cursor) == (3, 2, None)


def test_a_page_of_an_export_ends_where_it_is_long(
    world: World, kept: KeptBody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE_BYTES", 40)
    request, titles = ExportDocuments(collection="c", retriever="messages"), []
    found = exported(world, request)
    while found.cursor is not None:
        titles.append([document["title"] for document in found.documents])
        found = exported(world, request.model_copy(update={"cursor": found.cursor}))
    assert titles == [["T0", "T1"], ["T2", "T3"]]
    assert [document["title"] for document in found.documents] == ["T4"]


def test_what_is_dropped_between_the_list_and_the_reading_is_left_out(
    world: World, kept: KeptBody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "whole", lambda collection, ids: {})
    found = exported(world, ExportDocuments(collection="c", retriever="messages", limit=2))
    assert found.documents == ()
    assert found.cursor == ExportDocuments(collection="c", retriever="messages").cursor_after("d1")


def test_one_document_is_shown(world: World, kept: KeptBody) -> None:
    found = world.result(world.run(ShowDocument(collection="c", retriever="messages", id="d3")))
    assert isinstance(found, ShownDocument)
    assert found.document == {"title": "T3", "even": False}


def test_a_document_that_is_not_stored_is_named(world: World, kept: KeptBody) -> None:
    job_id = world.run(ShowDocument(collection="c", retriever="messages", id="d9"))
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "id: 'd9' is not among the messages of 'c'")
