"""Behind the real PgBouncer: every transaction has its limits and its mark, and nothing is left in a shared session."""

import threading
import typing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Final

import numpy as np
import psycopg
import pytest
from psycopg import errors

from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres import vector_index
from querymill_workers.postgres.connection import Pool, Prepares, across, holding, joined, lent, open_pool, within
from querymill_workers.postgres.migrate import SchemaMismatch, check, migrate
from querymill_workers.postgres.queries import SESSION
from querymill_workers.postgres.reading import fetch_all, snapshot
from querymill_workers.postgres.vector_index import VectorIndexes
from querymill_workers.services.ports import TextVector
from querymill_workers.services.stores.postgres import PostgresTextVectors
from querymill_workers.words.ports import WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.poolers import keeps_statements, pooler
from tests.fixtures.short_forms import named_at_night

NAMES: Final = [
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "transaction_timeout",
    "querymill.walled",
    "search_path",
]
LIMITS: Final = ["15000", "10000", "15000", "25000", "on", "public, pg_temp"]
#: PgBouncer with its defaults, and with what is usually advised. In session mode, a client keeps its server connection.
MODES: Final = [
    {**mode, **ignored}
    for mode, ignored in product(
        ({"pool_mode": "transaction", "default_pool_size": "4"}, {"pool_mode": "session", "default_pool_size": "24"}),
        ({}, {"ignore_startup_parameters": "options"}),
    )
]


@pytest.fixture(
    params=named_at_night(
        {" ".join(mode.values()): mode for mode in MODES}, short=["transaction 4", "session 24 options"]
    )
)
def pooled_url(request: pytest.FixtureRequest, database_url: str) -> Iterator[str]:
    with pooler(database_url, **request.param) as url:
        yield url


@pytest.fixture
def pool(pooled_url: str) -> Iterator[Pool]:
    with open_pool(pooled_url, max_size=12, timeout_s=10.0) as opened:
        yield opened


def in_force(connection: psycopg.Connection) -> list[str]:
    found: dict[str, str] = dict(connection.execute(SESSION["in_force"], {"names": NAMES}).fetchall())
    return [found[name] for name in NAMES]


def test_every_transaction_has_its_limits_whichever_session_it_is_lent(pool: Pool) -> None:
    def ask(_: int) -> list[list[str]]:
        seen = []
        with lent(pool) as connection:
            seen.append(in_force(connection))
        with within(pool, "c") as connection:
            seen.append(in_force(connection))
        with across(pool) as connection:
            seen.append(in_force(connection))
        with snapshot(pool) as connection:
            seen.append(in_force(connection))
        (read,) = fetch_all(pool, (SESSION["in_force"], {"names": NAMES}))
        found: dict[str, str] = dict(read)
        return [*seen, [found[name] for name in NAMES]]

    with ThreadPoolExecutor(12) as callers:
        for seen in callers.map(ask, range(48)):
            assert seen == [LIMITS] * 5


def test_a_limit_that_a_transaction_changes_is_not_put_back_within_it(pool: Pool) -> None:
    with joined(pool) as connection:
        with lent(pool) as same:
            assert same is connection
        assert in_force(connection)[3] == "60000"
    with holding(pool) as connection:
        assert (in_force(connection)[2], in_force(connection)[3]) == ("20000", "0")


def test_nothing_of_ours_is_left_in_a_session_that_others_are_lent(pool: Pool, pooled_url: str) -> None:
    with ThreadPoolExecutor(12) as callers:
        list(callers.map(lambda _: fetch_all(pool, ("SELECT pg_sleep(0.01)", {})), range(24)))
    pool.close()
    for _ in range(8):
        with psycopg.connect(pooled_url, prepare_threshold=None) as other:
            found: dict[str, str | None] = dict(other.execute(SESSION["in_force"], {"names": NAMES}).fetchall())
        assert found["querymill.walled"] in (None, "")
        assert {found[name] for name in NAMES[:4]} == {"0"}


def test_statements_that_run_often_are_not_prepared_in_a_session_of_others(pool: Pool) -> None:
    def ask(number: int) -> int:
        ((row,),) = fetch_all(pool, ("SELECT %(number)s::int + 1", {"number": number}))
        with lent(pool) as connection:
            connection.execute("SELECT 1 + %(number)s::int", {"number": number})
        return int(row[0])

    with ThreadPoolExecutor(12) as callers:
        assert list(callers.map(ask, range(200))) == list(range(1, 201))


def ask_often(pool: Pool) -> set[int]:
    """Run the same two statements often, on every connection, and return how many of them each has prepared."""

    def ask(number: int) -> int:
        ((row,),) = fetch_all(pool, ("SELECT %(number)s::int + 1", {"number": number}))
        assert row == (number + 1,)
        with lent(pool) as connection:
            connection.execute("SELECT 1 + %(number)s::int", {"number": number})
            return len(connection._prepared._names)

    with ThreadPoolExecutor(12) as callers:
        return set(list(callers.map(ask, range(300)))[-12:])


def test_statements_are_prepared_where_the_setting_says_so(database_url: str) -> None:
    for prepares in typing.get_args(Prepares):
        with open_pool(database_url, max_size=2, prepares=prepares) as pool:
            assert (0 in ask_often(pool)) == (prepares == "off")


@pytest.mark.parametrize("most", [0, 100])
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_statements_are_prepared_behind_a_pooler_that_keeps_them_or_it_is_refused(
    database_url: str, mode: str, most: int
) -> None:
    keeping = {"max_prepared_statements": str(most)} if keeps_statements() else {}
    with pooler(database_url, pool_mode=mode, default_pool_size="4", **keeping) as url:
        check(url, prepares="off")
        if mode == "session" or (keeping and most):
            check(url, prepares="on")
            with open_pool(url, max_size=4, prepares="on") as pool:
                assert 0 not in ask_often(pool)
                with lent(pool) as connection:
                    assert in_force(connection) == LIMITS
        else:
            with pytest.raises(SchemaMismatch, match=r"max_prepared_statements.*QUERYMILL_PREPARED_STATEMENTS to auto"):
                check(url, prepares="on")


def test_a_near_index_is_made_by_one_worker_and_the_right_to_make_one_ends(
    pool: Pool, pooled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "LARGE_ROWS", 3)
    store = PostgresTextVectors(pool)
    vectors = [TextVector(f"t{n}", ContentHash("x"), vector) for n, vector in enumerate(np.eye(8, dtype=np.float32))]
    for collection in ("near-1", "near-2"):
        store.store(collection, vectors, model="m")
        with open_pool(pooled_url, max_size=2) as other:
            begin = threading.Barrier(2)

            def make(indexes: VectorIndexes, collection: str = collection, begin: threading.Barrier = begin) -> bool:
                begin.wait(10)
                return indexes.make(collection, "m", dimensions=8)

            with ThreadPoolExecutor(2) as workers:
                made = list(
                    workers.map(make, (VectorIndexes(pool, "text_vectors"), VectorIndexes(other, "text_vectors")))
                )
        assert sorted(made) == [False, True], collection
        VectorIndexes(pool, "text_vectors").drop(collection, "m")
        store.drop_all(collection)


def test_migrations_run_there_again_and_again(empty_url: str, pooled_url: str) -> None:
    url = f"{pooled_url.rsplit('/', 1)[0]}/{empty_url.rsplit('/', 1)[1]}"
    assert migrate(url)
    for _ in range(6):
        assert migrate(url) == []
        check(url)


def test_words_are_found_there(pool: Pool) -> None:
    words = PostgresWords(pool)
    words.put("pooled", "messages", [WordUnit(f"u{n}", "ships and soup") for n in range(9)])
    words.tidy()
    with ThreadPoolExecutor(12) as callers:
        found = list(callers.map(lambda _: words.search("pooled", "messages", "ships", limit=9), range(48)))
    assert {len(hits) for hits in found} == {9}
    assert words.search("others", "messages", "ships", limit=9) == []


def test_a_lock_that_does_not_come_free_is_not_waited_for_for_ever(pool: Pool, database: psycopg.Connection) -> None:
    with lent(pool) as connection, database.transaction():
        connection.execute("SELECT set_config('lock_timeout', '200', true)")  # so that the test need not wait 10 s
        database.execute("LOCK TABLE text_vectors IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(errors.LockNotAvailable), connection.transaction():
            connection.execute("SELECT FROM text_vectors")
    with lent(pool) as connection:
        assert in_force(connection) == LIMITS


@pytest.mark.parametrize(
    ("settings", "options", "said"),
    [
        ({}, "?options=-c%20search_path%3Dpublic", r"unsupported startup parameter.*options"),
        ({"pool_mode": "statement"}, "", "pool_mode is statement"),
    ],
)
def test_a_pooler_that_cannot_serve_workers_is_named_with_its_remedy(
    database_url: str, settings: dict[str, str], options: str, said: str
) -> None:
    with (
        pooler(database_url, **settings) as url,
        pytest.raises(SchemaMismatch, match=rf"^DATABASE_URL: .*{said}") as told,
    ):
        check(url + options)
    assert "\n" not in str(told.value)
    assert "HUNTER" not in str(told.value)


def test_what_the_environment_or_the_role_sets_does_not_open_a_wall(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c querymill.across=on -c statement_timeout=0 -c querymill.walled=off")
    with open_pool(database_url, max_size=1) as pool, lent(pool) as connection:
        assert in_force(connection) == LIMITS
        assert connection.execute("SELECT current_setting('querymill.across')").fetchone() == ("off",)
