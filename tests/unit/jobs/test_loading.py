"""Many documents in one step: together, and where that fails each alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.loading import LoadedDocument
from querymill_workers.jobs import loading
from querymill_workers.jobs.faults import Conflict, Failed, Refused, Unavailable
from querymill_workers.jobs.loading import Loading


class Shelf:
    """Stores texts all or none, and fails on some."""

    def __init__(self, *bad: str, error: Exception | None = None) -> None:
        self.bad, self.error = set(bad), error or Refused("too heavy")
        self.stored: list[str] = []
        self.calls = 0

    def store(self, texts: "list[str]") -> list[LoadedDocument]:
        self.calls += 1
        if self.bad & set(texts):
            raise self.error
        self.stored += texts
        return [LoadedDocument(document=text, outcome="ingested", total=1) for text in texts]

    @property
    def loading(self) -> Loading[str]:
        return Loading(str, len, lambda texts: self.store(list(texts)))


@given(st.sets(st.text("abc", min_size=1, max_size=3), min_size=1), st.data())
def test_exactly_the_bad_documents_fail_and_the_order_is_kept(texts: set[str], data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.sampled_from(sorted(texts))))
    shelf = Shelf(*bad)
    loaded = shelf.loading.load(sorted(texts))
    assert [document.document for document in loaded] == sorted(texts)
    assert {document.document for document in loaded if document.outcome == "failed"} == bad
    assert sorted(shelf.stored) == sorted(texts - bad)


def test_one_bad_document_of_many_costs_few_further_transactions() -> None:
    shelf = Shelf("37")
    loaded = shelf.loading.load([str(number) for number in range(64)])
    assert [(one.document, one.reason) for one in loaded if one.outcome == "failed"] == [("37", "too heavy")]
    assert shelf.calls <= 2 * 6 + 1


@pytest.mark.parametrize("error", [Unavailable("away"), Conflict("another was first")])
def test_what_is_no_documents_fault_is_raised(error: Exception) -> None:
    shelf = Shelf("a", error=error)
    with pytest.raises(Unavailable):
        shelf.loading.load(["a", "b"])
    assert shelf.calls == 1


def test_a_statement_that_was_too_much_for_the_server_fails_its_document_alone() -> None:
    shelf = Shelf("a", error=Failed("PostgreSQL: QueryCanceled"))
    assert [one.outcome for one in shelf.loading.load(["a", "b"])] == ["failed", "ingested"]


def test_a_mistake_of_ours_is_named_by_its_type_alone() -> None:
    (failed,) = Shelf("secret", error=KeyError("secret")).loading.load(["secret"])
    assert failed.reason == "internal error: KeyError"


def test_slices_are_bounded_by_number_and_by_text_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SLICE_DOCUMENTS", 3)
    monkeypatch.setattr(loading, "SLICE_CHARS", 10)
    texts = ["aaaa", "bbbb", "cccc", "d", "e", "f", "g", "h" * 50, "i"]
    found = [list(few) for few in Shelf().loading.slices(texts)]
    assert found == [["aaaa", "bbbb"], ["cccc", "d", "e"], ["f", "g"], ["h" * 50], ["i"]]
