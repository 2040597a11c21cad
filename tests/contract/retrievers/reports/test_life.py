"""What every store of reports must do over the life of a report: run on the one in memory and on PostgreSQL."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from querymill_workers.retrievers.reports.rules.fusion import HitKey
from tests.fakes.vectors import vector_of
from tests.fixtures.reports import Stores, best, embed, prepared_report, store

Vector = npt.NDArray[np.float32]
TEXTS = ("nine ships", "tomato soup")


def add_all(stores: Stores, collection: str, *, model: str, vector: Callable[[str], Vector]) -> None:
    """Have every report embedded with a model."""
    life = stores.life
    for part in range(3):
        for sha1 in life.lacking(collection, model=model, part=part, parts=3):
            life.add_model(collection, sha1, model=model)
            while pending := life.pending(collection, [sha1], model=model, limit=1):
                life.fill(collection, pending, np.stack([vector(passage.text) for passage in pending]))


def wide(text: str) -> Vector:
    """A vector of another dimension."""
    return np.concatenate([vector_of(text), vector_of(text)])


def test_a_collection_is_searched_by_its_first_model(stores: Stores, collection: str) -> None:
    assert stores.reports.searched_by(collection) is None
    assert stores.life.searched_by(collection, first="words") == "words"
    assert stores.life.searched_by(collection, first="other") == "words"
    assert stores.reports.searched_by(collection) == "words"


def test_another_model_of_another_dimension_stands_beside_the_first_until_the_switch(
    stores: Stores, collection: str
) -> None:
    store(stores, collection, prepared_report("a", *TEXTS))
    store(stores, collection, prepared_report("b", "pea soup"))
    add_all(stores, collection, model="wide", vector=wide)
    assert [hit[1:] for hit in best(stores, collection, "tomato soup")] == [("a", 1), ("b", 0)]
    assert stores.life.switch(collection, model="wide")
    assert (stores.reports.searched_by(collection), stores.reports.cards(collection, model="words")) == ("wide", [])
    chosen = {"model": "wide", "documents": ["a", "b"], "depth": 1, "per_document": False, "pages": False}
    for _ in range(2):
        found = stores.reports.search(collection, {"q": wide("tomato soup")}, **chosen)  # type: ignore[arg-type]
        assert [(hit.document, hit.chunk) for hit in found] == [("a", 1)]
        stores.life.drop_other_models(collection, model="wide")
    assert stores.life.lacking(collection, model="wide", part=0, parts=1) == []
    assert stores.reports.texts(collection, [HitKey("a", "chunk", 1)])[HitKey("a", "chunk", 1)].text == "tomato soup"


def test_the_switch_waits_for_every_vector(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", *TEXTS))
    assert not stores.life.switch(collection, model="wide")
    add_all(stores, collection, model="wide", vector=wide)
    stores.life.put(collection, prepared_report("b", "pea soup"), models=["words"])
    assert not stores.life.switch(collection, model="wide")
    stores.life.put(collection, prepared_report("b", "pea soup"), models=["wide", "words"])
    assert not stores.life.switch(collection, model="wide")
    add_all(stores, collection, model="wide", vector=wide)
    assert stores.life.switch(collection, model="wide")
    assert [card.sha1 for card in stores.reports.cards(collection, model="wide")] == ["a", "b"]


def test_a_collection_that_never_held_a_report_is_not_switched(stores: Stores, collection: str) -> None:
    assert not stores.life.switch(collection, model="wide")


def test_a_passage_that_was_set_aside_does_not_hold_up_the_switch_and_is_tried_again(
    stores: Stores, collection: str
) -> None:
    stores.life.searched_by(collection, first="words")
    stores.life.put(collection, prepared_report("a", *TEXTS), models=["words"])
    stores.life.set_aside(collection, stores.life.pending(collection, ["a"], model="words", limit=1))
    embed(stores, collection, "a")
    assert stores.life.count_pending(collection, ["a"], model="words") == 0
    assert stores.life.lacking(collection, model="words", part=0, parts=1) == ["a"]
    stores.life.add_model(collection, "a", model="words")
    assert [passage.text for passage in stores.life.pending(collection, ["a"], model="words", limit=9)] == [
        "nine ships"
    ]
    stores.life.add_model(collection, "a", model="wide")
    (first, second) = stores.life.pending(collection, ["a"], model="wide", limit=9)
    stores.life.set_aside(collection, [first])
    stores.life.fill(collection, [second], np.stack([wide(second.text)]))
    assert stores.life.switch(collection, model="wide")
    assert stores.reports.waiting(collection, ["a"], model="wide").set_aside == 1


def test_a_text_that_was_set_aside_is_tried_again_when_its_report_changes(stores: Stores, collection: str) -> None:
    stores.life.put(collection, prepared_report("a", *TEXTS), models=["words"])
    stores.life.set_aside(collection, stores.life.pending(collection, ["a"], model="words", limit=1))
    stores.life.put(collection, prepared_report("a", "cold tea", *TEXTS), models=["words"])
    pending = stores.life.pending(collection, ["a"], model="words", limit=9)
    assert [passage.text for passage in pending] == ["cold tea", *TEXTS]


def test_what_is_pending_of_several_reports_comes_report_by_report(stores: Stores, collection: str) -> None:
    for sha1 in ("b", "a", "c"):
        stores.life.put(collection, prepared_report(sha1, *TEXTS), models=["words"])
    embed(stores, collection, "c")
    asked = ["b", "missing", "c", "a"]
    pending = stores.life.pending(collection, asked, model="words", limit=3)
    assert [(passage.document, passage.number) for passage in pending] == [("a", 0), ("a", 1), ("b", 0)]
    assert stores.life.count_pending(collection, asked, model="words") == 4


def test_a_vector_that_comes_after_its_report_was_replaced_or_dropped_is_discarded(
    stores: Stores, collection: str
) -> None:
    stores.life.put(collection, prepared_report("a", *TEXTS), models=["words"])
    late = stores.life.pending(collection, ["a"], model="words", limit=9)
    vectors = np.stack([vector_of(passage.text) for passage in late])
    stores.life.put(collection, prepared_report("a", "cold tea"), models=["words"])
    stores.life.fill(collection, late, vectors)
    assert stores.life.count_pending(collection, ["a"], model="words") == 1
    assert stores.life.drop(collection, "a") == 2
    stores.life.fill(collection, late, vectors)
    stores.life.set_aside(collection, late)
    assert stores.life.chunks(collection, "a") == []


def test_a_dropped_report_is_gone_and_the_lists_know_at_once(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", *TEXTS))
    store(stores, collection, prepared_report("b", "pea soup"))
    assert len(stores.reports.cards(collection, model="words")) == 2
    assert stores.life.drop(collection, "a") == 3
    assert stores.life.drop(collection, "a") == 0
    assert [card.sha1 for card in stores.reports.cards(collection, model="words")] == ["b"]
    assert stores.life.content(collection, "a") is None
    assert stores.reports.texts(collection, [HitKey("a", "page", 1), HitKey("a", "chunk", 0)]) == {}
    store(stores, collection, prepared_report("a", *TEXTS))
    assert len(stores.reports.cards(collection, model="words")) == 2


def test_no_collection_changes_anothers_reports(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", *TEXTS))
    other = f"{collection}x"
    assert stores.life.drop(other, "a") == 0
    stores.life.add_model(other, "a", model="wide")
    assert stores.life.pending(other, ["a"], model="wide", limit=9) == []
    assert stores.life.ids(other) == []
    assert best(stores, collection, "soup") == [("soup", "a", 1)]
