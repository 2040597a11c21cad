"""Many documents in one step: together, and where that fails each alone."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import Step
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_shared.contracts.reports.ingest import IngestReports, IngestReportsResult, Report
from querymill_workers.jobs import ingesting
from querymill_workers.jobs.faults import CallFailed, Conflict, Refused, Unavailable
from querymill_workers.jobs.ingesting import IngestNotes, ending_of, slices, store_or_halve
from tests.fakes.jobs import picture_of


class Text(str):
    """A document whose id is its text."""

    @property
    def document_id(self) -> str:
        return str(self)

    @property
    def chars(self) -> int:
        return len(self)


REPORT = Report.model_validate({"title": "t", "pages": [{"page": 1, "text": "soup"}]})
REQUEST = IngestReports(collection="filings", documents=(REPORT,))
ENDING = ending_of(IngestReportsResult)


class Shelf:
    """Stores texts all or none, and fails on some."""

    def __init__(self, *bad: str, error: Exception | None = None) -> None:
        self.bad, self.error = set(bad), error or Refused("too heavy")
        self.stored: list[str] = []
        self.calls = 0

    def store(self, texts: Sequence[Text]) -> list[IngestedDocument]:
        self.calls += 1
        if self.bad & set(texts):
            raise self.error
        self.stored += map(str, texts)
        return [IngestedDocument(document=text, outcome="ingested", total=1) for text in texts]

    def load(self, texts: Iterable[str]) -> list[IngestedDocument]:
        return store_or_halve([Text(text) for text in texts], self.store)


@given(st.sets(st.text("abc", min_size=1, max_size=3), min_size=1), st.data())
def test_exactly_the_bad_documents_fail_and_the_order_is_kept(texts: set[str], data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.sampled_from(sorted(texts))))
    shelf = Shelf(*bad)
    loaded = shelf.load(sorted(texts))
    assert [document.document for document in loaded] == sorted(texts)
    assert {document.document for document in loaded if document.outcome == "failed"} == bad
    assert sorted(shelf.stored) == sorted(texts - bad)


def test_one_bad_document_of_many_costs_few_further_transactions() -> None:
    shelf = Shelf("37")
    loaded = shelf.load([str(number) for number in range(64)])
    assert [(one.document, one.reason) for one in loaded if one.outcome == "failed"] == [("37", "too heavy")]
    assert shelf.calls <= 2 * 6 + 1


@pytest.mark.parametrize("error", [Unavailable("away"), Conflict("another was first")])
def test_what_is_no_documents_fault_is_raised(error: Exception) -> None:
    shelf = Shelf("a", error=error)
    with pytest.raises(Unavailable):
        shelf.load(["a", "b"])
    assert shelf.calls == 1


def test_a_statement_that_was_too_much_for_the_server_fails_its_document_alone() -> None:
    shelf = Shelf("a", error=CallFailed("PostgreSQL: QueryCanceled"))
    assert [one.outcome for one in shelf.load(["a", "b"])] == ["failed", "ingested"]


def test_a_mistake_of_ours_is_named_by_its_type_alone() -> None:
    (failed,) = Shelf("secret", error=KeyError("secret")).load(["secret"])
    assert failed.reason == "internal error: KeyError"


def test_slices_are_bounded_by_number_and_by_text_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingesting, "SLICE_CHARS", 10)
    texts = ["aaaa", "bbbb", "cccc", "d", "e", "f", "g", "h" * 50, "i"]
    found = [list(few) for few in slices([*map(Text, texts)], per_slice=3)]
    assert found == [["aaaa", "bbbb"], ["cccc", "d", "e"], ["f", "g"], ["h" * 50], ["i"]]


@pytest.mark.parametrize("further", [{}, {"written_by_a_later_release": [1]}])
def test_what_another_worker_noted_is_read(further: dict[str, Any]) -> None:
    documents = [{"document": "a", "outcome": "ingested", "total": 4}, {"document": "b", "outcome": "merged"}]
    notes = ENDING.notes.of(
        Step("ingest", "done", 1, notes={"documents": documents, "embedding_jobs": ["j2"], **further})
    )
    result = ENDING.to_result(REQUEST, picture_of(REQUEST), notes)
    assert isinstance(result, IngestReportsResult)
    assert result.model_dump(include={"total", "complete", "collection", "embedding_jobs"}) == {
        "total": 4, "complete": True, "collection": "filings", "embedding_jobs": ("j2",),
    }  # fmt: skip
    assert [document.outcome for document in result.documents] == ["ingested", "merged"]


def test_a_job_of_which_a_document_failed_says_so() -> None:
    failed = IngestedDocument(document="b", outcome="failed", reason="too heavy")
    result = ENDING.to_result(REQUEST, picture_of(REQUEST), IngestNotes(documents=(failed,)))
    assert (result.complete, [part.reason for part in result.degraded]) == (False, ["1 of 1 documents failed"])
