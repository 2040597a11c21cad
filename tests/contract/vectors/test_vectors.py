"""What the vectors of every retriever must do: in memory, and in PostgreSQL."""

from collections.abc import Iterator
from itertools import chain
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from querymill_workers.postgres.connection import Pool, joined, open_pool
from querymill_workers.vectors.ports import WHOLE, CollectionPart, Passage, PassageCounts, RefusedEmbedding, RefusedKey
from querymill_workers.vectors.rules.worth import VectorsWorth
from tests.fakes.vectors import vector_of
from tests.fixtures.passages import IN_MEMORY, IN_POSTGRES, StoredPassages, embed, text_of
from tests.fixtures.plans import plans_of, recorded, rows_read
from tests.fixtures.short_forms import all_at_night

REFUSED = RefusedEmbedding("HTTP 400")


@pytest.fixture(scope="module")
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=4) as opened:
        yield opened


@pytest.fixture(params=[(kind, where) for kind in IN_MEMORY for where in ("memory", "postgres")], ids=" in ".join)
def stored(request: pytest.FixtureRequest) -> StoredPassages:
    kind, where = request.param
    return IN_MEMORY[kind]() if where == "memory" else IN_POSTGRES[kind](request.getfixturevalue("pool"))


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def pending(
    stored: StoredPassages,
    collection: str,
    *,
    model: str = "m",
    documents: list[str] | None = None,
    part: CollectionPart = WHOLE,
) -> list[tuple[str, str]]:
    """The documents and texts that wait, in order."""
    waiting = stored.vectors.pending(collection, model=model, limit=99, documents=documents, part=part)
    return sorted((passage.document, text_of(passage)) for passage in waiting)


def counts(stored: StoredPassages, collection: str, *, model: str = "m") -> tuple[int, int, int]:
    counted = stored.vectors.counts(collection, model=model)
    return counted.passages, counted.pending, counted.refused


def passage_of(stored: StoredPassages, collection: str, text: str, *, model: str = "m") -> Passage:
    (found,) = [
        passage
        for passage in stored.vectors.pending(collection, model=model, limit=99)
        if text_of(passage) == text
    ]  # fmt: skip
    return found


def test_passages_wait_for_a_vector_of_each_model_until_they_have_it(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"b.js": ["soup"], "a.js": ["ships", "soup"], "none.js": []})
    assert pending(stored, collection) == [("a.js", "ships"), ("a.js", "soup"), ("b.js", "soup")]
    assert pending(stored, collection, documents=["b.js", "never.js"]) == [("b.js", "soup")]
    assert stored.vectors.pending(collection, model="m", limit=9, documents=[]) == []
    assert stored.vectors.lacking(collection, model="m") == {"a.js": 2, "b.js": 1}
    embed(stored, collection)
    assert (pending(stored, collection), counts(stored, collection)) == ([], (3, 0, 0))
    assert len(pending(stored, collection, model="other")) == 3
    assert (stored.vectors.lacking(collection, model="m"), counts(stored, collection, model="other")) == ({}, (3, 3, 0))


def test_a_list_goes_on_behind_a_passage_and_names_each_once(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {f"{number}.js": ["soup", "ships", "tea"] for number in range(5)} | {"船.js": ["船"]})
    listed: list[Passage] = []
    while page := stored.vectors.pending(collection, model="m", limit=4, after=listed[-1] if listed else None):
        listed += page
    assert len(listed) == len({passage[:2] for passage in listed}) == 16
    assert listed == sorted(listed)


def test_the_parts_of_a_collection_are_all_of_it(stored: StoredPassages, collection: str) -> None:
    documents = {f"{number}.js": [f"soup {number}", "tea"] for number in range(40)}
    stored.put(collection, documents)
    parts = [CollectionPart(number, 8) for number in range(8)]
    found = [pending(stored, collection, part=part) for part in parts]
    assert sum(map(bool, found)) > 1
    assert sorted(chain.from_iterable(found)) == pending(stored, collection)
    counted = [stored.vectors.counts(collection, model="m", part=part).pending for part in parts]
    assert counted == [len(part) for part in found]


def test_an_unchanged_text_keeps_its_vector(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["soup", "ships", "soup"]})
    embed(stored, collection)
    stored.put(collection, {"a.js": ["new", "ships", "soup"]})
    assert pending(stored, collection) == [("a.js", "new")]
    stored.put(collection, {"a.js": ["new", "ships"]})
    assert counts(stored, collection) == (2, 1, 0)
    stored.put(collection, {"a.js": ["new", "ships", "soup"]})
    assert pending(stored, collection) == [("a.js", "new"), ("a.js", "soup")]


def test_of_what_changed_or_went_nothing_is_pending_still_and_no_vector_is_stored(
    stored: StoredPassages, collection: str
) -> None:
    stored.put(collection, {"a.js": ["soup", "ships"], "b.js": ["tea"], "c.js": ["salt"]})
    listed = stored.vectors.pending(collection, model="m", limit=9)
    stored.vectors.fill(collection, {passage_of(stored, collection, "soup"): vector_of("soup")}, model="m")
    stored.put(collection, {"c.js": ["pepper"]})
    stored.drop(collection, ["b.js", "never.js"])
    assert [text_of(each) for each in stored.vectors.still_pending(collection, listed, model="m")] == ["ships"]
    stored.vectors.fill(collection, {passage: vector_of(passage.text) for passage in listed}, model="m")
    assert (pending(stored, collection), counts(stored, collection)) == ([("c.js", "pepper")], (3, 1, 0))


def test_what_is_dropped_and_comes_again_waits_again(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["soup"], "b.js": ["poison"]})
    stored.vectors.fill(collection, {passage_of(stored, collection, "poison"): REFUSED}, model="m")
    embed(stored, collection)
    stored.drop(collection, ["a.js", "b.js"])
    assert (counts(stored, collection), stored.vectors.count_refused(collection)) == ((0, 0, 0), 0)
    stored.put(collection, {"a.js": ["soup"], "b.js": ["poison"]})
    assert counts(stored, collection) == (2, 2, 0)


def test_a_refused_text_waits_no_longer_until_it_is_tried_again_or_changes(
    stored: StoredPassages, collection: str
) -> None:
    stored.put(collection, {"a.js": ["poison", "soup"], "b.js": ["poison"]})
    for model in ("m", "n"):
        waiting = stored.vectors.pending(collection, model=model, limit=9)
        results = {each: REFUSED if text_of(each) == "poison" else vector_of("soup") for each in waiting}
        stored.vectors.fill(collection, results, model=model)
    assert (pending(stored, collection), counts(stored, collection)) == ([], (3, 0, 2))
    stored.vectors.retry(collection, model="other")
    stored.vectors.retry(f"{collection}x")
    assert pending(stored, collection) == []
    stored.vectors.retry(collection, documents=["a.js"])
    assert pending(stored, collection) == pending(stored, collection, model="n") == [("a.js", "poison")]
    stored.vectors.retry(collection, model="m")
    assert pending(stored, collection) == [("a.js", "poison"), ("b.js", "poison")]
    stored.put(collection, {"b.js": ["harmless"]})
    assert pending(stored, collection, model="n") == [("a.js", "poison"), ("b.js", "harmless")]


def test_refused_texts_are_tried_again_a_part_at_a_time(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {f"{number}.js": ["poison"] for number in range(40)})
    waiting = stored.vectors.pending(collection, model="m", limit=99)
    stored.vectors.fill(collection, dict.fromkeys(waiting, REFUSED), model="m")
    stored.vectors.retry(collection, model="m", part=CollectionPart(3, 8))
    assert pending(stored, collection) == pending(stored, collection, part=CollectionPart(3, 8))
    assert 0 < len(pending(stored, collection)) < 40


def test_refused_texts_are_listed_with_who_refused_them_and_why(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["poison", "ships"], "b.js": ["soup"]})
    waiting = stored.vectors.pending(collection, model="m", limit=9)
    stored.vectors.fill(collection, dict.fromkeys(waiting, REFUSED), model="m")
    last = waiting[-1]
    stored.vectors.fill(collection, {last: RefusedEmbedding("too long")}, model="n")
    stored.vectors.fill(collection, {last: RefusedEmbedding("still too long")}, model="n")
    listed = stored.vectors.refused(collection, limit=9)
    assert [(each.key, each.reason) for each in listed] == [
        *((RefusedKey(passage.document, passage.key, "m"), "HTTP 400") for passage in waiting),
        (RefusedKey(last.document, last.key, "n"), "still too long"),
    ]
    assert stored.vectors.count_refused(collection) == 4
    pages = [stored.vectors.refused(collection, limit=2, after=after) for after in (None, listed[1].key)]
    assert [*pages[0], *pages[1]] == listed
    assert stored.vectors.refused(collection, limit=9, after=listed[-1].key) == []
    stored.vectors.fill(collection, {last: vector_of("soup")}, model="n")
    assert stored.vectors.count_refused(collection) == 3


def test_vectors_of_two_models_and_dimensions_stand_side_by_side_until_the_switch(
    stored: StoredPassages, collection: str
) -> None:
    vectors = stored.vectors
    assert vectors.active_model(collection) is None
    stored.put(collection, {"a.js": ["soup", "ships"]})
    assert vectors.active_model(collection, first="m") == vectors.active_model(collection, first="wide") == "m"
    embed(stored, collection)
    waiting = vectors.pending(collection, model="wide", limit=9)
    wide = dict(zip(waiting, np.eye(2, 1_000, dtype=np.float32), strict=True))
    vectors.fill(collection, dict(list(wide.items())[:1]), model="wide")
    assert not vectors.switch(collection, model="wide")
    assert vectors.active_model(collection) == "m"
    vectors.fill(collection, wide, model="wide")
    assert vectors.switch(collection, model="wide")
    assert vectors.active_model(collection) == "wide"
    vectors.drop_other_models(collection, model="wide")
    assert (counts(stored, collection), counts(stored, collection, model="wide")) == ((2, 2, 0), (2, 0, 0))


def test_a_refused_text_keeps_no_collection_from_the_switch(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["poison"]})
    stored.vectors.fill(collection, {passage_of(stored, collection, "poison"): REFUSED}, model="m")
    assert stored.vectors.switch(collection, model="m")


def test_at_most_one_job_waits_for_a_document(stored: StoredPassages, collection: str) -> None:
    vectors = stored.vectors
    stored.put(collection, {"a.js": ["soup"], "b.js": ["ships"], "none.js": []})
    asked = ["a.js", "b.js", "none.js", "never.js"]
    assert vectors.await_embedding(collection, dict.fromkeys(asked, "first"), models=["m"]) == {
        "a.js": "first", "b.js": "first",
    }  # fmt: skip
    vectors.begin_embedding(collection, ["a.js"])
    assert vectors.lacking(collection, model="m", unawaited=True) == {"a.js": 1}
    assert vectors.await_embedding(collection, dict.fromkeys(asked, "second"), models=["m"]) == {
        "a.js": "second", "b.js": "first",
    }  # fmt: skip
    vectors.begin_embedding(collection, None)
    embed(stored, collection)
    assert vectors.await_embedding(collection, dict.fromkeys(asked, "third"), models=["m"]) == {}
    both = vectors.await_embedding(collection, dict.fromkeys(asked, "third"), models=["m", "n"])
    assert both == {"a.js": "third", "b.js": "third"}


def test_a_collection_that_is_left_has_no_model_and_nothing_waits(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["soup"]})
    stored.vectors.active_model(collection, first="m")
    stored.vectors.await_embedding(collection, {"a.js": "first"}, models=["m"])
    stored.vectors.drop_model(collection)
    assert stored.vectors.active_model(collection) is None
    assert stored.vectors.await_embedding(collection, {"a.js": "second"}, models=["m"]) == {"a.js": "second"}


def test_no_collection_sees_the_vectors_of_another(stored: StoredPassages, collection: str) -> None:
    other = f"{collection}x"
    for each in (collection, other):
        stored.put(each, {"a.js": ["poison"], "b.js": ["soup"]})
        stored.vectors.active_model(each, first="m")
        stored.vectors.await_embedding(each, {"a.js": each}, models=["m"])
    waiting = stored.vectors.pending(collection, model="m", limit=9)
    stored.vectors.fill(collection, dict.fromkeys(waiting, REFUSED), model="m")
    assert (counts(stored, other), stored.vectors.refused(other, limit=9)) == ((2, 2, 0), [])
    assert not stored.vectors.switch(other, model="m")
    stored.vectors.retry(other)
    stored.vectors.drop_other_models(other, model="none")
    stored.vectors.drop_model(other)
    assert (counts(stored, collection), stored.vectors.active_model(collection)) == ((2, 0, 2), "m")
    assert stored.vectors.await_embedding(collection, {"a.js": "late"}, models=["n"]) == {"a.js": collection}


@pytest.mark.parametrize("kind", IN_POSTGRES)
def test_a_refusal_comes_with_its_transaction_or_not_at_all(pool: Pool, kind: str, collection: str) -> None:
    stored = IN_POSTGRES[kind](pool)
    stored.put(collection, {"a.js": ["poison"]})

    def refuse_and_fail() -> None:
        with joined(pool):
            stored.vectors.fill(collection, {passage_of(stored, collection, "poison"): REFUSED}, model="m")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        refuse_and_fail()
    assert stored.vectors.counts(collection, model="m") == PassageCounts(1, 1, 0)


@pytest.mark.nightly
def test_many_vectors_of_other_models_are_dropped(pool: Pool, collection: str) -> None:
    stored = IN_POSTGRES["files"](pool)
    stored.put(collection, {"a.js": [f"soup {number}" for number in range(2_100)]})
    for model in ("m", "n"):
        waiting = stored.vectors.pending(collection, model=model, limit=9_999)
        stored.vectors.fill(collection, dict.fromkeys(waiting, np.ones(1, np.float32)), model=model)
    stored.vectors.drop_other_models(collection, model="n")
    assert (counts(stored, collection), counts(stored, collection, model="n")) == ((2_100, 2_100, 0), (2_100, 0, 0))


@pytest.mark.parametrize("kind", all_at_night(IN_POSTGRES, short=["files"]))
def test_a_page_of_what_is_pending_costs_no_look_at_the_pages_before(
    database_url: str, pool: Pool, kind: str, collection: str
) -> None:
    stored = IN_POSTGRES[kind](pool)
    stored.put(collection, {f"{number:03}.js": [f"soup {number}", "ships", "tea"] for number in range(300)})
    embed(stored, collection)
    listed = stored.vectors.pending(collection, model="n", limit=800)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    with recorded() as statements:
        assert len(stored.vectors.pending(collection, model="n", limit=50, after=listed[-1])) == 50
    read = rows_read("\n".join(plans_of(database_url, statements)))
    assert 50 <= sum(read.values()) < 250, read


def test_a_sample_has_passages_with_their_vectors_the_same_each_time(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {f"{number}.js": [f"soup {number}", "tea"] for number in range(9)})
    embed(stored, collection)
    stored.put(collection, {"new.js": ["waits"]})
    drawn = stored.vectors.sample(collection, model="m", limit=7)
    assert len(drawn) == 7
    assert {document for (document, *_), _ in drawn} != {f"{number}.js" for number in range(4)}
    for passage, vector in drawn:
        assert vector == pytest.approx(vector_of(text_of(passage)), abs=1e-6)
    assert [passage for passage, _ in stored.vectors.sample(collection, model="m", limit=7)] == [
        each for each, _ in drawn
    ]
    assert len(stored.vectors.sample(collection, model="m", limit=99)) == 18
    assert stored.vectors.sample(collection, model="other", limit=9) == []
    assert stored.vectors.sample(f"{collection}x", model="m", limit=9) == []


def test_passages_are_told_to_be_stored_still(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["soup", "ships"], "b.js": ["tea"]})
    embed(stored, collection)
    passages = [passage for passage, _ in stored.vectors.sample(collection, model="m", limit=9)]
    assert list(stored.vectors.still_stored(collection, passages)) == passages
    stored.put(collection, {"a.js": ["soup"]})
    left = stored.vectors.still_stored(collection, passages)
    assert sorted(text_of(passage) for passage in left) == ["soup", "tea"]
    assert stored.vectors.still_stored(f"{collection}x", passages) == []


def test_documents_are_awaited_until_their_job_begins(stored: StoredPassages, collection: str) -> None:
    stored.put(collection, {"a.js": ["soup"]})
    assert not stored.vectors.is_awaited(collection)
    stored.vectors.await_embedding(collection, {"a.js": "first"}, models=["m"])
    assert stored.vectors.is_awaited(collection)
    assert not stored.vectors.is_awaited(f"{collection}x")
    stored.vectors.begin_embedding(collection, ["a.js"])
    assert not stored.vectors.is_awaited(collection)


def test_what_a_model_is_worth_goes_with_the_model(stored: StoredPassages, collection: str) -> None:
    worth = VectorsWorth(0.35, 0.1, 0.9, 0.5, 0.4, 128, 1_000, "zh", ((0.1, 0.0), (0.5, 1.0)))
    unknown = VectorsWorth(None, 0.0, 0.0, 0.0, 0.0, 3, 100)
    vectors = stored.vectors
    assert vectors.worth(collection, model="m") is None
    for model in ("m", "other"):
        vectors.keep_worth(collection, unknown, model=model)
        vectors.keep_worth(f"{collection}x", unknown, model=model)
    vectors.keep_worth(collection, worth, model="m")
    assert (vectors.worth(collection, model="m"), vectors.worth(collection, model="other")) == (worth, unknown)
    vectors.drop_other_models(collection, model="m")
    assert (vectors.worth(collection, model="m"), vectors.worth(collection, model="other")) == (worth, None)
    vectors.drop_model(collection)
    assert vectors.worth(collection, model="m") is None
    assert vectors.worth(f"{collection}x", model="other") == unknown
    vectors.drop_model(f"{collection}x")
