"""Folding runs into blocks: no search notices, nothing that is gone is left, and a kill changes nothing."""

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.postgres.connection import joined, open_pool, within
from querymill_workers.words import folder
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.tallies import until
from tests.fixtures.words import count_words, see, spelled

SPACE = "messages"
VOCABULARY = ["ship", "soup", "harbour", "crew", "rope", "渲染", "vtkActor"]
TABLES = ("word_entries", "word_runs", "word_tail", "word_ranges", "word_blocks")


@pytest.fixture
def stored(database_url: str) -> Iterator[PostgresWords]:
    with open_pool(database_url, max_size=8) as pool:
        yield PostgresWords(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fold little at a time, into small blocks."""
    monkeypatch.setattr(folder, "FOLD_POSTINGS", 12)
    monkeypatch.setattr(folder, "BLOCK_POSTINGS", 5)
    monkeypatch.setattr(folder, "FEW_POSTINGS", 2)


def fold_all(words: PostgresWords, collection: str) -> None:
    """Fold until nothing is left. Once words are gone, the upkeep of the store folds the same index, and is not waited
    for: `fold` says that nothing is left for this caller."""

    def tail() -> int:
        with within(words._pool, collection) as connection:
            row = connection.execute("SELECT count(*) FROM word_tail").fetchone()  # of this collection alone
        return 0 if row is None else row[0]

    until(lambda: not words.fold(collection, SPACE) and tail() == 0, within_s=60)


def counted(database: psycopg.Connection, collection: str) -> dict[str, int]:
    """Count the rows of an index in each table."""
    with database.transaction():
        see(database, collection)
        counts: dict[str, int] = {}
        for table in TABLES:
            row = database.execute(
                f"SELECT count(*) FROM {table}"  # of this collection alone
            ).fetchone()
            counts[table] = 0 if row is None else row[0]
    return counts


def units(*texts: str, group: str = "g", first: int = 0) -> list[WordUnit]:
    return [WordUnit(f"u{number}", text, group) for number, text in enumerate(texts, first)]


def same(one: Any, other: Any, collection: str) -> None:
    """Compare what two stores find, with what the scores were computed from."""
    for query in (*VOCABULARY, " ".join(VOCABULARY)):
        for groups in (None, ["a"], ["b", "none"]):
            ours, expected = (words.search(collection, SPACE, query, limit=50, groups=groups) for words in (one, other))
            assert ours == expected
            assert [hit.scored.statistics for hit in ours] == [hit.scored.statistics for hit in expected]
            assert [set(hit.scored.terms) for hit in ours] == [set(hit.scored.terms) for hit in expected]


@pytest.mark.usefixtures("small_parts")
def test_what_is_folded_is_found_like_before(
    stored: PostgresWords, collection: str, database: psycopg.Connection
) -> None:
    chance, brute = random.Random(1), MemoryWords()
    texts = [" ".join(chance.choices(VOCABULARY, k=chance.randint(0, 9))) for _ in range(60)]
    for words in (stored, brute):
        words.put(collection, SPACE, units(*texts[:40], group="a"))
        words.put(collection, SPACE, units(*texts[40:], group="b", first=20))
    same(stored, brute, collection)
    fold_all(stored, collection)
    assert counted(database, collection)["word_tail"] == 0
    same(stored, brute, collection)
    assert spelled(database, collection).keys() == {f"u{number}" for number in range(40)}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("is_folded", [False, True])
def test_nothing_is_left_of_what_is_dropped(
    stored: PostgresWords, collection: str, database: psycopg.Connection, *, is_folded: bool
) -> None:
    stored.put(collection, SPACE, units(*["canary ship"] * 30))
    if is_folded:
        fold_all(stored, collection)
    stored.drop(collection, SPACE, [f"u{number}" for number in range(30)])
    fold_all(stored, collection)
    assert counted(database, collection) == dict.fromkeys(TABLES, 0)


@pytest.mark.usefixtures("small_parts")
def test_the_words_of_a_dropped_entry_leave_the_run_that_others_are_in(
    stored: PostgresWords, collection: str, database: psycopg.Connection
) -> None:
    stored.put(collection, SPACE, [*units("ship", "soup"), WordUnit("secret", "canary ship", "hidden")])
    fold_all(stored, collection)
    stored.drop(collection, SPACE, ["secret"])
    fold_all(stored, collection)
    with database.transaction():
        see(database, collection)
        rows = [
            str(row).encode()
            for table in TABLES
            for row in database.execute(f"SELECT {table}::text FROM {table}")  # of this collection alone
        ]
        kept = b"".join(
            bytes(part) for row in database.execute("SELECT words, ids::text::bytea FROM word_runs") for part in row
        )
    for secret in (b"canari", b"canary", b"secret", b"hidden"):
        assert secret not in kept
        assert not any(secret in row or secret.hex().encode() in row for row in rows)
    assert count_words(database, collection) == {SPACE: 2}


@pytest.mark.usefixtures("small_parts")
def test_a_folder_that_is_killed_leaves_the_index_as_it_was(
    stored: PostgresWords, collection: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored._upkeep, "wake", lambda: None)  # only what is killed folds
    brute = MemoryWords()
    for words in (stored, brute):
        words.put(collection, SPACE, units(*["ship soup rope"] * 20, group="a"))
        words.drop(collection, SPACE, ["u3", "u4"])
    fold_all(stored, collection)
    for words in (stored, brute):
        words.put(collection, SPACE, units(*["crew rope"] * 8, group="b"))
    before, steps = counted(database, collection), ("_take_out", "_add", "_blank")
    for step in steps:
        honest = getattr(folder, step)

        def killed(connection: psycopg.Connection, *rest: Any, honest: Any = honest) -> None:
            honest(connection, *rest)
            database.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
            connection.execute("SELECT 1").fetchone()

        with monkeypatch.context() as patched:
            patched.setattr(folder, step, killed)
            with pytest.raises(Unavailable):
                stored.fold(collection, SPACE)
        assert counted(database, collection) == before
        same(stored, brute, collection)
    fold_all(stored, collection)
    same(stored, brute, collection)


@pytest.mark.usefixtures("small_parts")
def test_a_search_during_folding_misses_nothing_and_doubles_nothing(stored: PostgresWords, collection: str) -> None:
    ended, brute = threading.Event(), MemoryWords()
    for words in (stored, brute):
        words.put(collection, SPACE, units(*["ship soup"] * 40, group="a"))
    expected = brute.search(collection, SPACE, "ship", limit=99)

    def turn_over() -> None:
        try:
            for _ in range(15):
                # What is put is what was there: all that searches could notice is a part of a change.
                stored.put(collection, SPACE, units(*["ship soup"] * 40, group="a"))
                fold_all(stored, collection)
        finally:
            ended.set()

    with ThreadPoolExecutor(3) as pool:
        turning = pool.submit(turn_over)
        seen = 0
        while not ended.is_set():
            hits = stored.search(collection, SPACE, "ship", limit=99)
            assert hits == expected
            assert {hit.scored.statistics.units for hit in hits if hit.scored} == {40}
            seen += 1
        turning.result()
    assert seen > 1


def test_one_worker_folds_an_index_and_another_goes_on(stored: PostgresWords, collection: str) -> None:
    stored.put(collection, SPACE, units("ship"))
    with joined(stored._pool):
        assert not stored.fold(collection, SPACE)  # done, and not committed
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(stored.fold, collection, SPACE).result(timeout=20)
            pool.submit(stored.put, collection, SPACE, units("ship", first=1)).result(timeout=20)
            found = pool.submit(stored.search, collection, SPACE, "ship", limit=9).result(timeout=20)
    assert [hit.id for hit in found] == ["u0", "u1"]


def test_writers_of_one_index_do_not_wait_for_each_other(stored: PostgresWords, collection: str) -> None:
    stored.put(collection, SPACE, units("ship"))
    with joined(stored._pool):
        stored.put(collection, SPACE, units("ship soup", first=1))  # not committed
        with ThreadPoolExecutor(1) as pool:
            pool.submit(stored.put, collection, SPACE, units("ship rope", first=2)).result(timeout=20)
            assert not pool.submit(stored.fold, collection, SPACE).result(timeout=20)
            found = pool.submit(stored.search, collection, SPACE, "ship", limit=9).result(timeout=20)
            assert [hit.id for hit in found] == ["u0", "u2"]
    assert [hit.id for hit in stored.search(collection, SPACE, "ship", limit=9)] == ["u0", "u1", "u2"]
    fold_all(stored, collection)
    assert [hit.id for hit in stored.search(collection, SPACE, "ship", limit=9)] == ["u0", "u1", "u2"]


def test_an_index_is_tidied_when_it_is_due(
    stored: PostgresWords, collection: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.put(collection, SPACE, units("ship"))
    stored.tidy()
    assert counted(database, collection)["word_tail"] == 1
    monkeypatch.setattr(folder, "LEAST_COST", 1)
    while counted(database, collection)["word_tail"]:
        stored.tidy()
    assert counted(database, collection)["word_blocks"] == 1


def test_the_words_of_what_is_gone_leave_without_being_asked(
    stored: PostgresWords, collection: str, database: psycopg.Connection
) -> None:
    stored.put(collection, SPACE, units("canary ship"))
    fold_all(stored, collection)
    stored.drop(collection, SPACE, ["u0"])
    until(lambda: not counted(database, collection)["word_blocks"], within_s=60)
    assert counted(database, collection) == dict.fromkeys(TABLES, 0)


@pytest.mark.usefixtures("small_parts")
def test_writers_and_folders_at_once_leave_an_exact_index(
    stored: PostgresWords, collection: str, database: psycopg.Connection
) -> None:
    ended = threading.Event()

    def write(writer: int) -> None:
        chance = random.Random(writer)
        for _ in range(20):
            ids = chance.sample(range(14), chance.randint(1, 5))
            if chance.random() < 0.3:
                stored.drop(collection, SPACE, [f"u{id_}" for id_ in ids])
                continue
            texts = [" ".join(chance.choices(VOCABULARY, k=6)) for _ in ids]
            changed = zip(ids, texts, strict=True)
            stored.put(collection, SPACE, [WordUnit(f"u{id_}", text, chance.choice("ab")) for id_, text in changed])

    def keep_folding() -> None:
        while not ended.is_set():
            stored.fold(collection, SPACE)

    with ThreadPoolExecutor(6) as pool:
        folding = [pool.submit(keep_folding) for _ in range(2)]
        try:
            list(pool.map(write, range(4)))
        finally:
            ended.set()  # or those who fold would fold for ever
        for one in folding:
            one.result()
    tail_and_blocks = spelled(database, collection)
    fold_all(stored, collection)
    assert spelled(database, collection) == tail_and_blocks
    found = {
        hit.id: Counter({term.term: term.tf for term in hit.scored.terms})
        for hit in stored.search(collection, SPACE, " ".join(VOCABULARY), limit=99)
        if hit.scored
    }
    assert found == {id_: counts for id_, counts in tail_and_blocks.items() if counts}
    stored.drop(collection, SPACE, [f"u{id_}" for id_ in range(14)])
    fold_all(stored, collection)
    assert counted(database, collection) == dict.fromkeys(TABLES, 0)


class IndexMachine(RuleBasedStateMachine):
    """Puts, drops, aborted and joined writes, kills and folding in any order: the index equals the one in memory."""

    words: PostgresWords

    @initialize()
    def begin(self) -> None:
        self.collection, self.brute = f"c{uuid4().hex}", MemoryWords()

    @rule(
        ids=st.lists(st.integers(0, 9), min_size=1, max_size=5),
        text=st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join),
        group=st.sampled_from("ab"),
        ending=st.sampled_from(["alone", "joined", "aborted"]),
    )
    def put(self, ids: list[int], text: str, group: str, ending: str) -> None:
        entries = [WordUnit(f"u{id_}", text, group) for id_ in ids]
        if ending == "alone":
            self.words.put(self.collection, SPACE, entries)
        elif ending == "joined":
            with joined(self.words._pool):
                self.words.put(self.collection, SPACE, entries[:2])
                self.words.drop(self.collection, SPACE, [entries[0].id])
                self.words.put(self.collection, SPACE, entries)
        else:
            with contextlib.suppress(ZeroDivisionError), joined(self.words._pool):
                self.words.put(self.collection, SPACE, entries)
                raise ZeroDivisionError
            return
        self.brute.put(self.collection, SPACE, entries)

    @rule(ids=st.lists(st.integers(0, 9), max_size=4))
    def drop(self, ids: list[int]) -> None:
        for words in (self.words, self.brute):
            words.drop(self.collection, SPACE, [f"u{id_}" for id_ in ids])

    @rule()
    def fold(self) -> None:
        self.words.fold(self.collection, SPACE)

    @rule()
    def be_killed_while_folding(self) -> None:
        with contextlib.suppress(ZeroDivisionError), joined(self.words._pool):
            self.words.fold(self.collection, SPACE)
            raise ZeroDivisionError

    @rule()
    def clear(self) -> None:
        for words in (self.words, self.brute):
            words.drop_all(self.collection, SPACE)

    @invariant()
    def finds_the_same(self) -> None:
        for query, groups in ((" ".join(VOCABULARY), None), ("ship rope", ["a"])):
            ours, expected = (
                words.search(self.collection, SPACE, query, limit=20, groups=groups)
                for words in (self.words, self.brute)
            )
            assert ours == expected
            assert [hit.scored.statistics for hit in ours if hit.scored] == [
                hit.scored.statistics for hit in expected if hit.scored
            ]


@pytest.mark.usefixtures("small_parts")
def test_changes_and_folding_in_any_order_leave_what_a_model_has(stored: PostgresWords) -> None:
    machine = type("Machine", (IndexMachine,), {"words": stored})
    run_state_machine_as_test(
        machine,
        settings=settings(stateful_step_count=12, suppress_health_check=list(HealthCheck)),
    )
