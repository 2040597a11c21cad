"""What every store of versions must do: run on the one in memory and on PostgreSQL."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from querymill_shared.board import Claim
from querymill_shared.contracts.documents import DropDocuments
from querymill_workers.postgres.connection import Pool, lent, open_pool, within
from querymill_workers.versions.memory import MemoryVersions
from querymill_workers.versions.ports import Standing, Version, Versions, WrittenDocument, version_floor, version_of
from querymill_workers.versions.postgres import PostgresVersions

KIND = "messages"
#: A store's own row, in a table without a wall.
ADDED = "INSERT INTO conversation_collections (collection) VALUES (%(collection)s)"
STORED = "SELECT mode FROM conversation_collections WHERE collection = %(collection)s"


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=12) as opened:
        yield opened


@pytest.fixture(params=["memory", "postgres"])
def versions(request: pytest.FixtureRequest) -> Versions:
    return MemoryVersions() if request.param == "memory" else PostgresVersions(request.getfixturevalue("pool"))


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def at(ms: int, job_id: str = "0a") -> Version:
    return Version(ms, job_id)


def write(versions: Versions, collection: str, version: Version, *documents: str, whole: bool = True) -> list[bool]:
    """Write documents, and return for each whether the write was the newest."""
    subjects = [WrittenDocument(document) for document in documents]
    with versions.changing(collection, KIND, subjects, version, whole=whole) as standings:
        return [standings[document].newest for document in documents]


def look(versions: Versions, collection: str, document: str = "d") -> Standing:
    """Return the standing of a write that is newer than all others, without writing."""
    with versions.changing(collection, KIND, [WrittenDocument(document)], at(2**40), whole=False) as standings:
        return standings[document]


def drop(versions: Versions, collection: str, version: Version, document: str = "d") -> bool:
    with versions.dropping(collection, KIND, document, version) as standing:
        return standing.newest


def test_an_older_version_never_replaces_a_newer_one(versions: Versions, collection: str) -> None:
    assert write(versions, collection, at(2), "d") == [True]
    assert write(versions, collection, at(1), "d") == [False]
    assert look(versions, collection).known == at(2)
    assert write(versions, collection, at(3), "d") == [True]


def test_a_repeated_attempt_of_the_same_job_counts(versions: Versions, collection: str) -> None:
    assert [write(versions, collection, at(2), "d") for _ in range(2)] == [[True], [True]]


def test_two_writes_of_the_same_microsecond_are_ordered_by_their_jobs(versions: Versions, collection: str) -> None:
    assert write(versions, collection, at(2, "b"), "d") == [True]
    assert write(versions, collection, at(2, "a"), "d") == [False]


def test_a_write_that_adds_to_a_document_replaces_no_version(versions: Versions, collection: str) -> None:
    write(versions, collection, at(1), "d")
    assert write(versions, collection, at(3), "d", whole=False) == [True]
    assert write(versions, collection, at(2), "d") == [True]
    assert write(versions, collection, at(1), "d", whole=False) == [False]


def test_what_was_dropped_does_not_come_back_with_a_late_write(versions: Versions, collection: str) -> None:
    write(versions, collection, at(1), "d")
    assert drop(versions, collection, at(3))
    assert write(versions, collection, at(2), "d") == [False]
    assert write(versions, collection, at(2), "d", whole=False) == [False]
    assert look(versions, collection).known is None
    assert write(versions, collection, at(4), "d") == [True]
    assert write(versions, collection, at(2), "d", whole=False) == [False], "the tombstone outlives the new version"


def test_a_late_drop_leaves_what_is_newer(versions: Versions, collection: str) -> None:
    write(versions, collection, at(3), "d")
    assert not drop(versions, collection, at(2))
    assert look(versions, collection).known == at(3)
    assert write(versions, collection, at(1), "d", whole=False) == [False]


def test_drops_may_come_in_any_order(versions: Versions, collection: str) -> None:
    drop(versions, collection, at(5))
    drop(versions, collection, at(3))
    assert write(versions, collection, at(4), "d") == [False]


def test_forgetting_a_collection_covers_every_earlier_write(versions: Versions, collection: str) -> None:
    write(versions, collection, at(1), "a")
    write(versions, collection, at(5), "b")
    versions.leave_filter_tombstone(collection, KIND, at(3))
    assert [look(versions, collection, document).known for document in "ab"] == [None, at(5)]
    assert write(versions, collection, at(2), "a", "new") == [False, False]
    assert write(versions, collection, at(4), "a", "new") == [True, True]


def test_a_late_write_has_replaced_what_a_drop_of_everything_has_not_come_to_yet(
    versions: Versions, collection: str
) -> None:
    write(versions, collection, at(1), "a")
    versions.leave_filter_tombstone(collection, KIND, at(3))
    with versions.changing(collection, KIND, [WrittenDocument("a")], at(2)) as standings:
        late = standings["a"]
    assert (late.newest, late.barred_at, late.forgotten) == (False, at(3), True)
    part = look_at_part(versions, collection, at(2))
    assert (part.newest, part.barred_at) == (False, None)
    assert write(versions, collection, at(4), "a") == [True]


def look_at_part(versions: Versions, collection: str, version: Version) -> Standing:
    with versions.changing(collection, KIND, [WrittenDocument("a")], version, whole=False) as standings:
        return standings["a"]


def test_no_write_under_way_has_a_version_above_the_floor(versions: Versions, collection: str) -> None:
    reached = MemoryVersions()
    before = int(time.time() * 1_000_000) - 2_000_000
    assert before < version_floor(versions, reached, 0) < before + 60_000_000
    with reached.changing(collection, KIND, [WrittenDocument("a")], at(2**60)):
        pass
    assert version_floor(versions, reached, 0) == 2**60


def write_one(versions: Versions, collection: str, version: Version, subject: WrittenDocument) -> bool:
    with versions.changing(collection, KIND, [subject], version) as standings:
        return standings[subject.document].newest


def test_forgetting_a_filter_covers_what_passes_it(versions: Versions, collection: str) -> None:
    ada = WrittenDocument("a", {"user_name": "Ada"}, {"team": "red", "n": 7})
    bob = WrittenDocument("b", {"user_name": "Bob"}, {"team": "blue", "n": [7.0]})
    assert write_one(versions, collection, at(1), bob)
    versions.leave_filter_tombstone(collection, KIND, at(5), conditions={"user_name": ["Ada", "Eve"]})
    assert not write_one(versions, collection, at(4), ada)
    assert write_one(versions, collection, at(6), ada)
    assert write_one(versions, collection, at(4), bob)
    assert look(versions, collection, "b").known == at(4)
    versions.leave_filter_tombstone(collection, KIND, at(8), conditions={"team": {"prefix": "bl"}, "n": 7})
    assert [write_one(versions, collection, at(7), subject) for subject in (ada, bob)] == [True, False]


BLUE = {"team": "blue"}


def write_team(versions: Versions, collection: str, version: Version, team: str, document: str = "d") -> Standing:
    with versions.changing(
        collection, KIND, [WrittenDocument(document, metadata={"team": team})], version
    ) as standings:
        return standings[document]


def test_a_late_write_that_was_forgotten_has_replaced_what_is_older(versions: Versions, collection: str) -> None:
    write_team(versions, collection, at(1), "red")
    versions.leave_filter_tombstone(collection, KIND, at(9), conditions=BLUE)
    late = write_team(versions, collection, at(5), "blue")
    assert (late.newest, late.barred_at, late.forgotten) == (False, at(9), True)
    assert look(versions, collection).known is None
    assert not write_team(versions, collection, at(4), "red").newest, "it was replaced"
    assert write_team(versions, collection, at(6), "red").newest, "it was not forgotten"
    assert not write(versions, collection, at(8), "d", whole=False)[0], "a part belongs to what was forgotten"
    assert write(versions, collection, at(10), "d", whole=False) == [True]


def test_what_replaced_a_forgotten_document_is_not_buried(versions: Versions, collection: str) -> None:
    write_team(versions, collection, at(6), "red")
    versions.leave_filter_tombstone(collection, KIND, at(9), conditions=BLUE)
    late = write_team(versions, collection, at(5), "blue")
    assert (late.newest, late.barred_at) == (False, None)
    assert look(versions, collection).known == at(6)


def test_a_buried_document_stays_replaceable_by_what_came_between(versions: Versions, collection: str) -> None:
    write_team(versions, collection, at(2), "blue")
    with versions.changing(collection, KIND, [WrittenDocument("d")], at(9), whole=False):
        versions.leave_tombstone(collection, KIND, "d", written=at(2), parts=at(9))
    assert look(versions, collection).known is None
    assert [write(versions, collection, at(ms), "d", whole=False)[0] for ms in (8, 10)] == [False, True]
    assert [write_team(versions, collection, at(ms), "red").newest for ms in (1, 5)] == [False, True]


def test_a_filter_can_be_for_some_documents(versions: Versions, collection: str) -> None:
    versions.leave_filter_tombstone(collection, KIND, at(9), conditions=BLUE, documents=["a", "b"])
    standings = [
        write_team(versions, collection, at(5), team, document) for team in ("blue", "red") for document in "ac"
    ]
    assert [standing.newest for standing in standings] == [False, True, True, True]


def test_a_part_is_told_of_the_filters_that_came_after_it(versions: Versions, collection: str) -> None:
    for ms, team in ((3, "red"), (9, "blue"), (11, "blue")):
        versions.leave_filter_tombstone(collection, KIND, at(ms), conditions={"team": team})
    with versions.changing(collection, KIND, [WrittenDocument("d")], at(5), whole=False) as standings:
        assert standings["d"].newest
        found = [standings["d"].barred_by(WrittenDocument("d", metadata={"team": team})) for team in ("blue", "red")]
    assert found == [at(11), None]


def test_a_tombstone_keeps_nothing_of_a_person(pool: Pool, collection: str) -> None:
    versions = PostgresVersions(pool)
    drop(versions, collection, at(1), "session of Ada")
    versions.leave_filter_tombstone(
        collection, KIND, at(2), conditions={"user_name": "Ada", "path": {"prefix": "home/Ada"}}
    )
    versions.leave_filter_tombstone(collection, KIND, at(3), conditions=BLUE, documents=["session of Ada"])
    with versions.changing(collection, KIND, [WrittenDocument("session of Ada")], at(4), whole=False):
        versions.leave_tombstone(collection, KIND, "session of Ada", written=at(2), parts=at(4))
    with within(pool, collection) as connection:
        rows = connection.execute(
            "SELECT v::text FROM document_versions AS v WHERE collection = %(c)s UNION ALL"
            " SELECT t::text FROM tombstones AS t WHERE collection = %(c)s",
            {"c": collection},
        ).fetchall()
    assert len(rows) == 4
    assert "Ada" not in str(rows)


def test_collections_and_kinds_do_not_see_each_other(versions: Versions, collection: str) -> None:
    write(versions, collection, at(5), "d")
    versions.leave_filter_tombstone(collection, KIND, at(6))
    assert write(versions, f"{collection}-other", at(1), "d") == [True]
    with versions.changing(collection, "reports", [WrittenDocument("d")], at(1)) as standings:
        assert standings["d"].newest


def test_a_write_that_fails_leaves_no_version(pool: Pool, collection: str) -> None:
    versions = PostgresVersions(pool)

    def fail_after_writing() -> None:
        values = {"collection": collection}
        with (
            versions.changing(collection, KIND, [WrittenDocument("d")], at(1)),
            within(pool, collection) as connection,
        ):
            connection.execute(ADDED, values)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after_writing()
    assert look(versions, collection).known is None
    assert not _rows(pool, STORED, {"collection": collection})


def test_stores_join_the_transaction_of_the_change(pool: Pool, collection: str) -> None:
    values = {"collection": collection}
    with (
        PostgresVersions(pool).changing(collection, KIND, [WrittenDocument("d")], at(1)),
        within(pool, collection) as connection,
    ):
        connection.execute(ADDED, values)
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(lambda: _rows(pool, STORED, values)).result()
    assert _rows(pool, STORED, values) == [("count",)]


def _rows(pool: Pool, query: str, values: Mapping[str, str]) -> list[tuple[object, ...]]:
    with lent(pool) as connection:
        return connection.execute(query, values).fetchall()


def test_one_writer_at_a_time_changes_a_document(versions: Versions, collection: str) -> None:
    """Each reads, and writes what it read plus one: with two at once, one would be lost."""
    total = [0]

    def add(ms: int) -> None:
        with versions.changing(collection, KIND, [WrittenDocument("d"), WrittenDocument(f"own {ms}")], at(ms)):
            before = total[0]
            look_elsewhere()
            total[0] = before + 1

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(add, range(40)))
    assert total[0] == 40
    assert look(versions, collection).known == at(39)


def test_nobody_changes_a_collection_that_another_has_alone(versions: Versions, collection: str) -> None:
    """Both that came before and that comes in between would be seen by who is alone."""
    told: list[str] = []

    def write_and_tell() -> None:
        write(versions, collection, at(1), "d")
        told.append("written")

    with ThreadPoolExecutor(1) as other:
        with versions.alone(collection, KIND):
            writing = other.submit(write_and_tell)
            for _ in range(50):
                look_elsewhere()
            told.append("alone")
        writing.result()
    assert told == ["alone", "written"]
    assert write(versions, f"{collection}-other", at(1), "d") == [True]


def test_others_are_buried_within_a_change_once_their_writers_are_done(versions: Versions, collection: str) -> None:
    """An older write of one that is buried is told so, or is done before the tombstone stands."""
    told: list[str] = []

    def leave_others() -> None:
        with versions.dropping(collection, KIND, "d", at(5)):
            versions.leave_tombstones(collection, "texts", ["t"], at(5))
            told.append("buried")

    with ThreadPoolExecutor(1) as other:
        with versions.changing(collection, "texts", [WrittenDocument("t")], at(3), whole=False) as standings:
            assert not standings["t"].forgotten
            leaving = other.submit(leave_others)
            for _ in range(50):
                look_elsewhere()
            told.append("written")
        leaving.result()
    assert told == ["written", "buried"]
    for version, forgotten in ((at(3), True), (at(6), False)):
        with versions.changing(
            collection, "texts", [WrittenDocument("t"), WrittenDocument("other")], version, whole=False
        ) as standings:
            assert (standings["t"].forgotten, standings["other"].forgotten) == (forgotten, False)


def look_elsewhere() -> None:
    """Give other threads time to run."""
    sum(random.random() for _ in range(20_000))


def test_writers_of_the_same_documents_in_any_order_do_not_deadlock(pool: Pool, collection: str) -> None:
    versions, names = PostgresVersions(pool), [f"d{number}" for number in range(12)]

    def write_shuffled(ms: int) -> list[bool]:
        return write(versions, collection, at(ms), *random.Random(ms).sample(names, len(names)))

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(write_shuffled, range(40)))
    assert {look(versions, collection, name).known for name in names} == {at(39)}


def leave_tombstone(versions: Versions, collection: str, version: Version, document: str) -> Standing:
    """Leave the tombstone of what is known of a document as of a version, as dropping by a filter does."""
    with versions.changing(collection, KIND, [WrittenDocument(document)], version, whole=False) as standings:
        standing = standings[document]
        versions.leave_tombstone(collection, KIND, document, written=standing.known or version, parts=version)
        return standing


MOVES = ("red", "blue", "part", "drop", "bury", "forget", "forget blue", "forget one")
_STEPS = st.lists(st.tuples(st.sampled_from(MOVES), st.sampled_from("ab"), st.integers(1, 9)), max_size=12)


@given(steps=_STEPS)
@example(steps=[("drop", "a", 2), ("forget", "a", 2), ("red", "a", 1)])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_server_agrees_with_the_reference(pool: Pool, steps: list[tuple[str, str, int]]) -> None:
    collection = f"c{uuid4().hex}"

    def told_by(versions: Versions) -> list[object]:
        moves: Mapping[str, Callable[[str, Version], object]] = {
            "red": lambda document, version: write_team(versions, collection, version, "red", document),
            "blue": lambda document, version: write_team(versions, collection, version, "blue", document),
            "part": lambda document, version: write(versions, collection, version, document, whole=False),
            "drop": lambda document, version: drop(versions, collection, version, document),
            "bury": lambda document, version: leave_tombstone(versions, collection, version, document),
            "forget": lambda _, version: versions.leave_filter_tombstone(collection, KIND, version),
            "forget blue": lambda _, version: versions.leave_filter_tombstone(
                collection, KIND, version, conditions=BLUE
            ),
            "forget one": lambda document, version: versions.leave_filter_tombstone(
                collection, KIND, version, conditions=BLUE, documents=[document]
            ),
        }
        told = [moves[move](document, at(ms, f"{place:02}")) for place, (move, document, ms) in enumerate(steps)]
        return [*told, *(look(versions, collection, document) for document in "ab")]

    assert told_by(PostgresVersions(pool)) == told_by(MemoryVersions())


def test_the_version_of_a_job_is_its_acceptance_in_us() -> None:
    request = DropDocuments(collection="c", retriever="messages", ids=("s",))
    claim = Claim("7f", "drop", 1, request, None, 1_700_000_000.12, accepted_us=1_700_000_000_123_457)
    assert version_of(claim) == Version(1_700_000_000_123_457, "7f")
