"""Given counts, constants of the formula, and terms that only report: the same in memory and on PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from querymill_workers.postgres.connection import open_pool
from querymill_workers.text import bm25
from querymill_workers.text.bm25 import PLAIN, Tuning
from querymill_workers.text.words import WORDS_VERSION
from querymill_workers.words import folder
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.parts import part_id
from querymill_workers.words.ports import WordHit, Words, WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.words import see

SPACE = "messages"
VOCABULARY = ["ship", "soup", "rope", "渲染", "@link"]


@pytest.fixture(params=["memory", "postgres"])
def words(request: pytest.FixtureRequest) -> Iterator[Words]:
    if request.param == "memory":
        yield MemoryWords()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=2) as pool:
        yield PostgresWords(pool)


@pytest.fixture
def stored(database_url: str) -> Iterator[PostgresWords]:
    with open_pool(database_url, max_size=2) as pool:
        yield PostgresWords(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def counted(id_: str, counts: Mapping[str, int], text: str = "", group: str = "") -> WordUnit:
    return WordUnit(id_, text, group, counts)


def tfs(hit: WordHit) -> dict[str, tuple[float, int]]:
    """Return how often the query and the entry have each term that the hit reports."""
    assert hit.scored is not None
    return {term.term: (term.times, term.tf) for term in hit.scored.terms}


def test_given_counts_stand_for_the_words_of_the_text(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [counted("u", {"ship": 20, "soup": 6}, text="rope rope"), WordUnit("v", "soup")])
    (hit,) = words.search(collection, SPACE, "ships and rope", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.length, hit.scored.statistics) == ("u", 26, bm25.IndexStatistics(units=2, length=27))
    assert tfs(hit) == {"ship": (1, 20)}


def test_an_entry_with_the_counts_of_a_text_is_the_entry_of_that_text(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [counted("u", {"ship": 2, "nine": 1}), WordUnit("v", "nine ships and a ship")])
    one, other = words.search(collection, SPACE, "nine ships", limit=9)
    assert (one.id, other.id, one.score, one.scored) == ("u", "v", other.score, other.scored)


def test_an_entry_without_counts_is_counted_and_not_found(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [counted("u", {}, text="ship"), WordUnit("v", "ship")])
    (hit,) = words.search(collection, SPACE, "ship", limit=9)
    assert hit.scored is not None
    assert (hit.id, hit.scored.statistics, words.count(collection, SPACE)) == ("v", bm25.IndexStatistics(2, 1), 2)


def test_counts_replace_a_text_and_a_text_replaces_counts(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [WordUnit("u", "ship"), counted("v", {"ship": 3})])
    words.put(collection, SPACE, [counted("u", {"soup": 4}), WordUnit("v", "soup")])
    assert words.search(collection, SPACE, "ship", limit=9) == []
    assert {hit.id: tfs(hit) for hit in words.search(collection, SPACE, "soup", limit=9)} == {
        "u": {"soup": (1, 4)},
        "v": {"soup": (1, 1)},
    }


def test_an_entry_is_extended_by_counts_as_by_a_text(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [counted("u", {"ship": 20})])
    assert words.extend(collection, SPACE, [WordUnit("u", "ships")])
    assert words.extend(collection, SPACE, [counted("u", {"ship": 5, "soup": 2}, text="rope")])
    (hit,) = words.search(collection, SPACE, "ship soup rope", limit=9)
    assert tfs(hit) == {"ship": (1, 26), "soup": (1, 2)}


def test_the_constants_of_a_search_are_those_of_the_formula(words: Words, collection: str) -> None:
    texts = {"short": "ship", "long": "ship ship " + "rope " * 8, "other": "soup"}
    words.put(collection, SPACE, [WordUnit(id_, text) for id_, text in texts.items()])
    for tuning, best in ((PLAIN, "short"), (Tuning(k1=1.2, b=0.0), "long"), (Tuning(k1=24.0, b=0.3), "long")):
        hits = words.search(collection, SPACE, "ship", limit=9, tuning=tuning)
        assert hits[0].id == best
        assert {hit.id: hit.score for hit in hits} == pytest.approx({
            "short": bm25.idf(3, 2) * bm25.saturation(1, 1, 4.0, k1=tuning.k1, b=tuning.b),
            "long": bm25.idf(3, 2) * bm25.saturation(2, 10, 4.0, k1=tuning.k1, b=tuning.b),
        })  # fmt: skip


def test_counts_in_twentieths_under_k1_in_twentieths_score_like_whole_counts(words: Words, collection: str) -> None:
    plain = [{"ship": 2, "rope": 1}, {"ship": 1}, {"soup": 3, "rope": 2}]
    words.put(collection, SPACE, [counted(f"u{number}", counts) for number, counts in enumerate(plain)])
    scaled = [{term: 20 * times for term, times in counts.items()} for counts in plain]
    words.put(collection, "scaled", [counted(f"u{number}", counts) for number, counts in enumerate(scaled)])
    expected = words.search(collection, SPACE, "ship rope", limit=9, tuning=Tuning(1.2, 0.3))
    hits = words.search(collection, "scaled", "ship rope", limit=9, tuning=Tuning(24.0, 0.3))
    assert [hit.id for hit in hits] == [hit.id for hit in expected]
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected])


def test_a_term_that_is_also_asked_for_is_reported_and_scores_and_finds_nothing(words: Words, collection: str) -> None:
    linked, bare = {"ship": 20, "@link": 6}, {"ship": 20, "soup": 6}
    words.put(collection, SPACE, [counted("a", linked), counted("b", bare), counted("c", {"@link": 20})])
    before = words.search(collection, SPACE, "ship", limit=9)
    hits = words.search(collection, SPACE, "ship", limit=9, also=["@link", "unheardof"])
    assert [(hit.id, hit.score) for hit in hits] == [(hit.id, hit.score) for hit in before]
    assert [tfs(hit) for hit in hits] == [{"ship": (1, 20), "@link": (0, 6)}, {"ship": (1, 20)}]
    assert words.search(collection, SPACE, "the of", limit=9, also=["@link"]) == []
    assert words.search(collection, SPACE, "unheardof", limit=9, also=["@link"]) == []


def test_words_beside_the_text_count_what_is_said_of_theirs(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [WordUnit("u", "old ship"), WordUnit("v", "a ship of Nordhav"), WordUnit("w", "soup")])
    beside = {"the ships of Nordhav": 0.5, "old soups": 0.05}
    hits = words.search(collection, SPACE, "old ships", limit=9, beside=beside)
    asked = {"old": (1.05, 1), "ship": (1.5, 1)}
    assert {hit.id: tfs(hit) for hit in hits} == {
        "u": asked, "v": {"ship": (1.5, 1), "nordhav": (0.5, 1)}, "w": {"soup": (0.05, 1)},
    }  # fmt: skip
    assert [hit.id for hit in hits] == ["u", "v", "w"]
    assert [hit.id for hit in words.search(collection, SPACE, "?", limit=9, beside={"Nordhav": 0.1})] == ["v"]


def test_a_word_of_the_query_that_is_also_asked_for_scores_as_before(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [WordUnit("u", "ship soup")])
    assert words.search(collection, SPACE, "ships ship", limit=9, also=["ship"]) == words.search(
        collection, SPACE, "ships ship", limit=9
    )


def test_a_limit_cuts_the_same_head_whatever_is_also_asked_for(words: Words, collection: str) -> None:
    entries = [counted(f"u{number:02}", {"ship": 1 + number % 3, "@link": 1 + number % 2}) for number in range(20)]
    words.put(collection, SPACE, [*entries, *(counted(f"v{number}", {"@link": 9}) for number in range(20))])
    whole = [hit.id for hit in words.search(collection, SPACE, "ship", limit=99)]
    assert len(whole) == 20
    for limit in (1, 7, 20):
        assert [hit.id for hit in words.search(collection, SPACE, "ship", limit=limit, also=["@link"])] == whole[:limit]


def test_entries_are_counted_by_index_and_by_collection(words: Words, collection: str) -> None:
    assert words.count(collection, SPACE) == 0
    words.put(collection, SPACE, [WordUnit("a", "ship"), WordUnit("b", ""), counted("c", {"ship": 2})])
    words.put(collection, SPACE, [WordUnit("a", "soup"), WordUnit("a", "rope")])
    words.refill(collection, SPACE, [WordUnit("a", "ship"), WordUnit("d", "ship")])
    words.put(collection, "other", [WordUnit("x", "ship")])
    assert [words.count(collection, space) for space in (SPACE, "other", "none")] == [4, 1, 0]
    assert words.count(f"{collection}x", SPACE) == 0
    words.drop(collection, SPACE, ["a", "a", "never there"])
    assert words.count(collection, SPACE) == 3
    words.put(collection, SPACE, [WordUnit(part_id("p", number), "ship") for number in range(5)])
    words.trim(collection, SPACE, {"p": 2})
    assert words.count(collection, SPACE) == 5
    words.drop_all(collection, SPACE)
    assert [words.count(collection, space) for space in (SPACE, "other")] == [0, 1]


def test_entries_of_another_tokeniser_are_not_counted(words: Words, collection: str) -> None:
    words.put(collection, SPACE, [WordUnit("a", "ship"), WordUnit("b", "ship")])
    if isinstance(words, MemoryWords):
        words._spaces[collection, SPACE, 0] = words._spaces.pop((collection, SPACE, WORDS_VERSION))
    elif isinstance(words, PostgresWords):
        with words._pool.connection() as connection, connection.transaction():
            see(connection, collection)
            connection.execute("UPDATE word_indexes SET version = 0 WHERE collection = %s", [collection])
    assert words.count(collection, SPACE) == 0
    words.put(collection, SPACE, [WordUnit("a", "ship")])
    assert words.count(collection, SPACE) == 1


ENTRIES = st.tuples(
    st.integers(0, 9), st.dictionaries(st.sampled_from(VOCABULARY), st.integers(1, 40)), st.sampled_from("ab")
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(ENTRIES, max_size=5)),
        st.tuples(st.just("drop"), st.lists(st.integers(0, 9), max_size=4)),
        st.tuples(st.just("fold"), st.just([])),
    ),
    max_size=8,
)
TUNINGS = st.sampled_from([PLAIN, Tuning(24.0, 0.3), Tuning(1.2, 0.0), Tuning(0.5, 1.0)])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=CHANGES, query=st.lists(st.sampled_from(VOCABULARY[:4]), max_size=4).map(" ".join), tuning=TUNINGS,
    also=st.sampled_from([[], ["@link"], ["@link", "soup"]]), groups=st.sampled_from([None, ["a"]]),
    limit=st.integers(1, 6),
)  # fmt: skip
def test_after_any_changes_postgres_counts_and_finds_what_memory_does(
    stored: PostgresWords, monkeypatch: pytest.MonkeyPatch, changes: list[tuple[str, list[Any]]],
    query: str, tuning: Tuning, also: Sequence[str], groups: list[str] | None, limit: int,
) -> None:  # fmt: skip
    for name, size in (("FOLD_POSTINGS", 10), ("BLOCK_POSTINGS", 4), ("FEW_POSTINGS", 2)):
        monkeypatch.setattr(folder, name, size)
    brute, collection = MemoryWords(), f"c{uuid4().hex}"
    for kind, change in changes:
        if kind == "fold":
            stored.fold(collection, SPACE)
        for words in (brute, stored):
            if kind == "put":
                words.put(collection, SPACE, [counted(f"u{id_}", counts, group=group) for id_, counts, group in change])
            elif kind == "drop":
                words.drop(collection, SPACE, [f"u{id_}" for id_ in change])
    expected, ours = (
        words.search(collection, SPACE, query, limit=limit, groups=groups, tuning=tuning, also=also)
        for words in (brute, stored)
    )
    assert ours == expected
    assert list(map(tfs, ours)) == list(map(tfs, expected))
    assert stored.count(collection, SPACE) == brute.count(collection, SPACE)
