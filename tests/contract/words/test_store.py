"""What every store of words must do: run on the one in memory and on PostgreSQL."""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.queries import statements
from querymill_workers.text import bm25
from querymill_workers.text.words import WORDS_VERSION
from querymill_workers.words import folder
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.parts import part_id, part_of
from querymill_workers.words.ports import WordHit, Words, WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.words import see

SPACE = "messages"
VOCABULARY = ["ship", "soup", "harbour", "crew", "rope", "渲染", "汽车", "vtkActor"]


@pytest.fixture(params=["memory", "postgres"])
def words(request: pytest.FixtureRequest) -> Iterator[Words]:
    if request.param == "memory":
        yield MemoryWords()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield PostgresWords(pool)


@pytest.fixture
def stored(database_url: str) -> Iterator[PostgresWords]:
    with open_pool(database_url, max_size=4) as pool:
        yield PostgresWords(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def put(words: Words, collection: str, *texts: str, group: str = "", first: int = 0) -> None:
    units = [WordUnit(f"u{number}", text, group) for number, text in enumerate(texts, first)]
    words.put(collection, SPACE, units)


def found(
    words: Words, collection: str, text: str, *, limit: int = 10, groups: Sequence[str] | None = None
) -> list[str]:
    return [hit.id for hit in words.search(collection, SPACE, text, limit=limit, groups=groups)]


def age(words: Words, collection: str) -> None:
    """Make a space look as if an older tokeniser had made it."""
    if isinstance(words, MemoryWords):
        words._spaces[collection, SPACE, 0] = words._spaces.pop((collection, SPACE, WORDS_VERSION))
        return
    assert isinstance(words, PostgresWords)
    with words._pool.connection() as connection, connection.transaction():
        see(connection, collection)
        connection.execute("UPDATE word_indexes SET version = 0 WHERE collection = %s", [collection])


def test_the_unit_with_the_rarer_word_comes_first(words: Words, collection: str) -> None:
    put(words, collection, "soup of the day", "soup for the ship", "soup")
    assert found(words, collection, "ship soup") == ["u1", "u2", "u0"]


def test_a_score_is_the_formulas(words: Words, collection: str) -> None:
    put(
        words,
        collection,
        "ship soup soup rope",
        "soup rope crew crew",
        *["crew rope mast sail"] * 7,
        "crew soup mast sail",
    )
    best, *_ = words.search(collection, SPACE, "ships soup", limit=2)
    assert best.id == "u0"
    assert best.score == pytest.approx(1.621, abs=5e-4)


def test_a_hit_says_what_its_score_came_from(words: Words, collection: str) -> None:
    put(words, collection, "nine ships and a ship", "soup")
    (hit,) = words.search(collection, SPACE, "rope of ships", limit=9)
    assert hit.scored is not None
    assert (hit.scored.length, hit.scored.statistics) == (3, bm25.IndexStatistics(units=2, length=4))
    assert hit.scored.terms == (bm25.TermScore("ship", 1, 2, 1, bm25.idf(2, 1), hit.score),)


def test_equal_scores_are_in_the_order_of_ids_even_where_they_are_cut(words: Words, collection: str) -> None:
    put(words, collection, *["one ship"] * 12)
    assert found(words, collection, "ship", limit=3) == ["u0", "u1", "u10"]


def test_a_smaller_number_gives_the_head_of_the_same_list(words: Words, collection: str) -> None:
    put(words, collection, *[f"{'ship ' * (number % 4)} soup {'rope ' * number}" for number in range(30)])
    whole = found(words, collection, "ship soup rope", limit=30)
    assert len(whole) == 30
    assert found(words, collection, "ship soup rope", limit=7) == whole[:7]


def test_a_word_that_the_query_repeats_counts_as_often(words: Words, collection: str) -> None:
    put(words, collection, "ship", "soup", "crew rope")
    assert found(words, collection, "ship soup") == ["u0", "u1"]
    best, _ = words.search(collection, SPACE, "soup ship soup", limit=5)
    (once,) = words.search(collection, SPACE, "soup", limit=5)
    assert best.id == "u1"
    assert best.score == pytest.approx(2 * once.score)


@pytest.mark.parametrize("text", ["", "   ", "the of and", "…！", "unheardof"])
def test_a_query_without_a_known_word_finds_nothing(words: Words, collection: str, text: str) -> None:
    put(words, collection, "ship", "the of and")
    assert found(words, collection, text) == []


def test_nothing_is_found_where_nothing_is(words: Words, collection: str) -> None:
    assert found(words, collection, "ship") == []
    put(words, collection, "…", "the")
    assert found(words, collection, "ship") == []
    assert found(words, collection, "ship", limit=0) == []


def test_only_the_groups_asked_for_are_searched_with_the_statistics_of_all(words: Words, collection: str) -> None:
    put(words, collection, "ship soup", "ship", group="monday")
    put(words, collection, "ship rope", "soup", group="tuesday", first=2)
    every = {hit.id: hit.score for hit in words.search(collection, SPACE, "ship", limit=9)}
    some = words.search(collection, SPACE, "ship", limit=9, groups=["tuesday", "friday"])
    assert {hit.id: hit.score for hit in some} == {"u2": every["u2"]}
    assert found(words, collection, "ship", groups=["friday"]) == []
    assert found(words, collection, "ship", groups=[]) == []


def test_a_replaced_unit_is_found_by_its_new_words_only(words: Words, collection: str) -> None:
    put(words, collection, "ship", "soup", group="monday")
    put(words, collection, "rope rope", group="tuesday")
    assert found(words, collection, "ship") == []
    assert found(words, collection, "rope", groups=["monday"]) == []
    (hit,) = words.search(collection, SPACE, "rope", limit=9, groups=["tuesday"])
    assert hit.scored is not None
    assert hit.scored.statistics == bm25.IndexStatistics(units=2, length=3)


def test_the_later_of_two_units_with_one_id_counts(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [WordUnit("u", "ship"), WordUnit("u", "soup")])
    assert (found(words, collection, "ship"), found(words, collection, "soup")) == ([], ["u"])


def test_what_is_dropped_is_not_found_and_not_counted(words: Words, collection: str) -> None:
    put(words, collection, "ship", "ship soup", "rope")
    words.drop(collection, SPACE, ["u0", "u0", "never there"])
    (hit,) = words.search(collection, SPACE, "ship", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.statistics, hit.scored.terms[0].df) == ("u1", bm25.IndexStatistics(2, 3), 1)
    words.drop(f"{collection}x", SPACE, ["u1"])
    assert found(words, collection, "ship") == ["u1"]


def test_putting_nothing_and_dropping_nothing_are_no_errors(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [])
    words.drop(collection, SPACE, [])
    words.drop_all(collection, SPACE)
    assert found(words, collection, "ship") == []


def test_no_collection_and_no_space_sees_anothers_words(words: Words, collection: str) -> None:
    put(words, collection, "ship")
    words.put(collection, "modules", [WordUnit("m", "ship ship soup", "g")])
    put(words, f"{collection}x", "ship", "soup", group="g")
    (hit,) = words.search(collection, SPACE, "ship soup", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.statistics) == ("u0", bm25.IndexStatistics(1, 1))
    assert found(words, collection, "ship", groups=["g"]) == []
    words.drop_all(f"{collection}x", SPACE)
    assert found(words, collection, "ship") == ["u0"]


def test_a_space_of_another_tokeniser_is_not_searched(words: Words, collection: str) -> None:
    put(words, collection, "ship")
    assert not words.stale(collection, SPACE)
    assert words.previous_versions(collection, SPACE) == []
    age(words, collection)
    assert words.stale(collection, SPACE)
    assert words.previous_versions(collection, SPACE) == [0]
    with pytest.raises(Refused, match="built by another tokeniser version; run `querymill reindex`"):
        words.search(collection, SPACE, "ship", limit=1)
    words.drop(collection, SPACE, ["u0"])
    assert words.stale(collection, SPACE)


def test_a_stale_space_is_made_anew_beside_the_old_one_and_searched_whole(words: Words, collection: str) -> None:
    put(words, collection, "ship", "soup", "rope")
    age(words, collection)
    put(words, collection, "soup kitchen", first=1)  # ingested meanwhile: the newer text
    words.refill(collection, SPACE, [WordUnit("u0", "ship"), WordUnit("u1", "soup"), WordUnit("u2", "rope")])
    assert words.stale(collection, SPACE)
    with pytest.raises(Refused):
        words.search(collection, SPACE, "ship", limit=1)
    words.drop(collection, SPACE, ["u2"])
    assert words.previous_versions(collection, SPACE) == [0]
    words.publish(collection, SPACE)
    assert not words.stale(collection, SPACE)
    assert words.previous_versions(collection, SPACE) == []
    (hit,) = words.search(collection, SPACE, "kitchen", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.statistics) == ("u1", bm25.IndexStatistics(units=2, length=3))
    assert found(words, collection, "rope") == []
    words.publish(collection, SPACE)
    assert found(words, collection, "ship") == ["u0"]


def test_words_of_the_old_tokeniser_are_gone_after_the_new_ones_are_searched(
    stored: PostgresWords, collection: str, database: psycopg.Connection
) -> None:
    put(stored, collection, "ship")
    age(stored, collection)
    stored.refill(collection, SPACE, [WordUnit("u0", "ship")])
    stored.publish(collection, SPACE)
    with database.transaction():
        see(database, collection)
        rows = database.execute(
            "SELECT s.version, s.whole, (SELECT count(*) FROM word_entries AS e WHERE e.word_index = s.number)"
            " FROM word_indexes AS s WHERE collection = %s",
            [collection],
        ).fetchall()
    assert rows == [(WORDS_VERSION, True, 1)]


def test_a_cleared_space_is_empty_and_fresh(words: Words, collection: str) -> None:
    put(words, collection, "ship", "soup")
    age(words, collection)
    words.drop_all(collection, SPACE)
    assert not words.stale(collection, SPACE)
    put(words, collection, "ship rope", first=5)
    (hit,) = words.search(collection, SPACE, "ship soup", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.statistics) == ("u5", bm25.IndexStatistics(1, 2))


def test_a_space_that_is_not_there_is_not_stale(words: Words, collection: str) -> None:
    assert not words.stale(collection, SPACE)


texts = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(st.integers(0, 9), texts, st.sampled_from("ab")), max_size=5)),
        st.tuples(st.just("drop"), st.lists(st.integers(0, 9), max_size=4)),
        st.tuples(st.just("fold"), st.sampled_from([[1], [10], [1_000]])),
    ),
    max_size=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=changes, query=texts, limit=st.integers(1, 6), groups=st.sampled_from([None, ["a"], ["a", "b"]]))
def test_after_any_changes_postgres_finds_what_brute_force_finds(
    stored: PostgresWords, monkeypatch: pytest.MonkeyPatch, changes: list[tuple[str, list[Any]]],
    query: str, limit: int, groups: list[str] | None,
) -> None:  # fmt: skip
    monkeypatch.setattr(folder, "BLOCK_POSTINGS", 4)
    monkeypatch.setattr(folder, "FEW_POSTINGS", 2)
    brute, collection = MemoryWords(), f"c{uuid4().hex}"
    for kind, change in changes:
        if kind == "fold":
            monkeypatch.setattr(folder, "FOLD_POSTINGS", change[0])
            stored.fold(collection, SPACE)
        for words in (brute, stored):
            if kind == "put":
                words.put(collection, SPACE, [WordUnit(f"u{id_}", text, group) for id_, text, group in change])
            elif kind == "drop":
                words.drop(collection, SPACE, [f"u{id_}" for id_ in change])
    expected, ours = (words.search(collection, SPACE, query, limit=limit, groups=groups) for words in (brute, stored))
    assert ours == expected
    assert [terms(hit) for hit in ours] == [terms(hit) for hit in expected]
    assert stored.near(collection, SPACE, ["shop", "soap"]) == brute.near(collection, SPACE, ["shop", "soap"])


def test_a_search_reads_only_the_blocks_of_its_words(stored: PostgresWords, collection: str) -> None:
    put(stored, collection, *["ship soup"] * 50)
    statement = statements("querymill_workers.words", "postgres.sql")["word_snapshot"]
    values = {"collection": collection, "space": SPACE, "version": 1, "terms": ["ship"], "groups": None}
    with stored._pool.connection() as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL enable_bitmapscan = off")
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}", values))
    assert "Index Scan using word_blocks_pkey" in plan
    assert "term = ANY" in plan.split("word_blocks_pkey", 1)[1].split("Index Cond", 1)[1].split("\n", 1)[0]


def terms(hit: WordHit) -> set[bm25.TermScore]:
    assert hit.scored is not None
    return set(hit.scored.terms)


IDS = [f"u{number}" for number in range(12)]


def write(words: Words, collection: str, writer: int) -> dict[str, set[str]]:
    """Change units at random; return every text put into a unit, each of which begins with a number of its own."""
    chance, texts = random.Random(writer), {}
    for turn in range(25):
        chosen = chance.sample(IDS, chance.randint(1, 6))
        if chance.random() < 0.3:
            words.drop(collection, SPACE, chosen)
            continue
        text = f"{writer}{turn:03} " + " ".join(chance.choices(VOCABULARY, k=6))
        texts[text] = set(chosen)
        words.put(collection, SPACE, [WordUnit(id_, text, chance.choice("ab")) for id_ in chosen])
    return texts


def test_writers_at_once_leave_exact_counts_and_no_deadlock(stored: PostgresWords, collection: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        written = [
            text
            for texts in pool.map(lambda writer: write(stored, collection, writer), range(4))
            for text in texts.items()
        ]
    brute, held = MemoryWords(), []
    for text, ids in written:
        for group in "ab":
            units = found(stored, collection, text.split()[0], limit=99, groups=[group])
            assert ids.issuperset(units)
            brute.put(collection, SPACE, [WordUnit(id_, text, group) for id_ in units])
            held += units
    assert len(held) == len(set(held)) > 0
    for query in (*VOCABULARY, " ".join(VOCABULARY)):
        ours, expected = (words.search(collection, SPACE, query, limit=99) for words in (stored, brute))
        assert ours == expected
        assert [terms(hit) for hit in ours] == [terms(hit) for hit in expected]


def test_a_search_sees_a_change_whole_or_not_at_all(stored: PostgresWords, collection: str) -> None:
    ended = threading.Event()

    def change() -> None:
        try:
            for turn in range(40):
                put(stored, collection, *["ship soup" if turn % 2 else "ship rope rope"] * 5)
        finally:
            ended.set()

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        pictures = set()
        while not ended.is_set():
            hits = stored.search(collection, SPACE, "ship soup", limit=9)
            pictures.add((len(hits), *{round(hit.score / bm25.idf(5, 5), 9) for hit in hits}))
        changing.result()
    both, one = round(2 / 2.2, 9), round(1 / 2.2, 9)
    assert pictures <= {(0,), (5, both), (5, one)}
    assert len(pictures) > 1


def test_a_database_that_is_away_is_unavailable() -> None:
    with open_pool("postgresql://127.0.0.1:1/none", max_size=1, timeout_s=0.3) as pool, pytest.raises(Unavailable):
        PostgresWords(pool).search("c", SPACE, "ship", limit=1)


def test_after_a_search_a_connection_is_as_it_was(stored: PostgresWords, collection: str, database_url: str) -> None:
    put(stored, collection, "ship")
    with open_pool(database_url, max_size=1) as pool:
        PostgresWords(pool).search(collection, SPACE, "ship", limit=1)
        with pool.connection() as connection:
            level = connection.execute("SHOW transaction_isolation").fetchone()
    assert level == ("read committed",)


def test_a_change_that_fails_leaves_nothing_behind(stored: PostgresWords, collection: str) -> None:
    put(stored, collection, "ship")
    with pytest.raises(psycopg.DataError):
        stored.put(collection, SPACE, [WordUnit("a", "ship"), WordUnit("b\0", "ship")])
    (hit,) = stored.search(collection, SPACE, "ship", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.statistics) == ("u0", bm25.IndexStatistics(1, 1))


def test_terms_that_no_unit_has_come_with_those_they_may_be_a_misspelling_of(words: Words, collection: str) -> None:
    put(words, collection, "database dock ship 渲染")
    near = words.near(collection, SPACE, ["databs", "dok", "ship", "zebra", "渲梁"])
    assert {term: list(known) for term, known in near.items()} == {
        "databs": ["databas", "dock"],
        "dok": ["dock"],
        "zebra": [],
        "渲梁": ["渲染"],
    }
    assert list(words.near(collection, "elsewhere", ["ship"]).get("ship", [])) == []


def test_an_entry_that_is_extended_is_one_that_was_put_with_both_texts(words: Words, collection: str) -> None:
    put(words, collection, "nine ships and a ship", "soup")
    whole = f"{collection}x"
    put(words, whole, "nine ships and a ship\nsoup, ships, 渲染器", "soup")
    more = [WordUnit("u0", "soup, ships, 渲染器", group="g"), WordUnit("nowhere", "soup")]
    assert set(words.extend(collection, SPACE, more)) == {"u0"}
    for query in ("ship", "soup", "nine", "渲染", "nowhere"):
        hits, expected = (words.search(name, SPACE, query, limit=9) for name in (collection, whole))
        assert [(hit.id, hit.score, hit.scored) for hit in hits] == [
            (hit.id, hit.score, hit.scored) for hit in expected
        ]
    words.drop(collection, SPACE, ["u0"])
    assert found(words, collection, "ship nine 渲染") == []


def test_parts_of_a_document_are_dropped_from_a_number_on_and_others_stay(words: Words, collection: str) -> None:
    units = [WordUnit(part_id(name, number), f"ship{number}") for name in ("a", "ab") for number in range(12)]
    words.put(collection, SPACE, units)
    words.trim(collection, SPACE, {"a": 2, "nowhere": 0})
    query = " ".join(f"ship{number}" for number in range(12))
    left = {part_of(hit.id) for hit in words.search(collection, SPACE, query, limit=99)}
    assert left == {("a", 0), ("a", 1)} | {("ab", number) for number in range(12)}
    words.trim(collection, SPACE, {"a": 0, "ab": 1})
    assert found(words, collection, query) == ["ab"]
