"""Documents and their words never part, wherever a writer dies and whoever writes beside: in each store."""

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pymongo.collection
import pytest

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.modules.ingest import keep_documents
from querymill_workers.retrievers.modules.learn import repair_unsettled
from querymill_workers.retrievers.modules.ports import KIND, SPACE
from querymill_workers.retrievers.modules.rules.documents import encode_id
from querymill_workers.retrievers.modules.rules.names import key_of
from querymill_workers.retrievers.modules.stores.postgres import PostgresModules
from querymill_workers.stores import documents_in
from querymill_workers.versions.ports import Version
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.postgres import PostgresWords
from tests.contract.retrievers.modules.conftest import modules_on
from tests.fakes.ports import memory_ports

#: The words and the modules of each version; no two versions share any but the last.
NAMES = ("Alpha", "Beta", "Gamma", "Delta")
#: What every version has, under the same name.
SHARED = "vtkActor"


class Died(BaseException):
    """The end of a worker: no code of its own runs after it."""


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=8) as opened:
        yield opened


@contextmanager
def ports_on(pool: Pool, mongodb_uri: str) -> Iterator[Ports]:
    with modules_on(mongodb_uri, pool) as modules:
        yield memory_ports(
            modules=modules, words=PostgresWords(pool), versions=PostgresVersions(pool), documents=documents_in(pool)
        )


@pytest.fixture(params=["postgres", "mongo"])
def ports(pool: Pool, request: pytest.FixtureRequest) -> Iterator[Ports]:
    with ports_on(pool, request.getfixturevalue("mongodb_uri") if request.param == "mongo" else "") as opened:
        yield opened


@pytest.fixture
def on_mongo(pool: Pool, mongodb_uri: str) -> Iterator[Ports]:
    with ports_on(pool, mongodb_uri) as opened:
        yield opened


def version_at(number: int) -> Version:
    return Version(1_000 + number, f"job-{number}")


def document(number: int, version: int) -> ModuleDocument:
    name = NAMES[version]
    meta_info = {"vtkjs_modules": [f"vtk{name}", SHARED], "description": f"{name} of {number}"}
    return ModuleDocument.model_validate(
        {"faiss_id": number, "file_path": "p.js", "code": f"run{name}()", "meta_info": meta_info}
    )


def ingest(ports: Ports, collection: str, version: int, *, number: int = 0) -> str:
    (kept,) = keep_documents(collection, [document(number, version)], version_at(version), ports)
    return kept.outcome


def drop(ports: Ports, collection: str, version: int, *, number: int = 0) -> None:
    with ports.versions.dropping(collection, KIND, encode_id(number), version_at(version)) as standing:
        if standing.newest:
            ports.modules.drop(collection, number)
            ports.words.drop(collection, SPACE, [encode_id(number)])


def found_version(ports: Ports, collection: str, number: int = 0) -> int | None:
    """Return the one version that is found, by its words, by its modules and as a whole; None if none is."""
    by_words = [
        version
        for version, name in enumerate(NAMES)
        if encode_id(number) in {hit.id for hit in ports.words.search(collection, SPACE, name, limit=99)}
    ]
    whole = ports.modules.documents(collection, [number])
    if not whole:
        assert by_words == []
        assert ports.modules.describe(collection, [number]) == []
        return None
    (version,) = by_words
    name = NAMES[version]
    assert whole[number].code == f"run{name}()"
    (summary,) = ports.modules.describe(collection, [number])
    assert (summary.names, summary.description) == ((f"vtk{name}", SHARED), f"{name} of {number}")
    for asked in (f"vtk{name}", SHARED):
        assert number in ports.modules.recall(collection, [key_of(asked)], match="exact")[key_of(asked)].all
    return version


@contextmanager
def dying_after(writes: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the worker die once its servers have carried out so many writes. Yield what they were."""
    made: list[str] = []
    worker = threading.get_ident()

    def counted(owner: type, name: str) -> Callable[..., Any]:
        honest = getattr(owner, name)

        def call(*given: Any, **options: Any) -> Any:
            is_write = name != "execute" or str(given[1]).startswith(("INSERT", "UPDATE", "DELETE"))
            is_write = is_write and threading.get_ident() == worker  # others tidy the text index meanwhile
            if is_write and len(made) >= writes:
                raise Died
            done = honest(*given, **options)
            made.extend([name] * is_write)
            return done

        return call

    with monkeypatch.context() as patch:
        for owner, name in (
            (pymongo.collection.Collection, "bulk_write"),
            (pymongo.collection.Collection, "update_one"),
            (psycopg.Connection, "execute"),
        ):
            patch.setattr(owner, name, counted(owner, name))
        yield made


def dying_everywhere(
    run: Callable[[str], object], begin: Callable[[str], object], collection: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[int, str]]:
    """Let a writer die after each of its writes, each time in a collection of its own; yield these."""
    for point in range(100):
        here = f"{collection}-{point}"
        begin(here)
        with dying_after(point, monkeypatch) as made:
            try:
                run(here)
            except Died:
                pass
            else:
                assert set(made) in ({"execute"}, {"execute", "bulk_write", "update_one"})
                return
        yield point, here
    raise AssertionError("it never came to its end")


def test_a_writer_that_dies_anywhere_leaves_one_whole_version(
    ports: Ports, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = set()
    for point, here in dying_everywhere(
        lambda name: ingest(ports, name, 1), lambda name: ingest(ports, name, 0), collection, monkeypatch
    ):
        version = found_version(ports, here)
        assert version in (0, 1), point
        left.add(version)
        if point % 2:  # before or after the next version comes
            repair_unsettled(here, ports)
            assert found_version(ports, here) == version, point
        assert ingest(ports, here, 2) == "ingested"
        assert found_version(ports, here) == 2, point
        assert ingest(ports, here, 1) == "superseded"
        assert found_version(ports, here) == 2, point
        repair_unsettled(here, ports)
        is_clean(ports, here, "vtkGamma")
    # In PostgreSQL every write is within the transaction, so the last one does not count either.
    assert left == ({0} if isinstance(ports.modules, PostgresModules) else {0, 1})


def test_a_first_version_whose_writer_dies_is_found_whole_or_not_at_all(
    ports: Ports, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point, here in dying_everywhere(lambda name: ingest(ports, name, 1), str, collection, monkeypatch):
        version = found_version(ports, here)
        assert version in (None, 1), point
        repair_unsettled(here, ports)
        assert found_version(ports, here) == version, point
        is_clean(ports, here, *([] if version is None else ["vtkBeta"]))
        assert ingest(ports, here, 1) == ("ingested" if version is None else "unchanged")
        assert found_version(ports, here) == 1, point


def test_a_drop_that_dies_anywhere_is_whole_once_it_is_repeated(
    ports: Ports, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point, here in dying_everywhere(
        lambda name: drop(ports, name, 2), lambda name: ingest(ports, name, 1), collection, monkeypatch
    ):
        assert ports.modules.documents(here, [0]).keys() <= {0}
        if point % 2:
            repair_unsettled(here, ports)
        drop(ports, here, 2)
        assert found_version(ports, here) is None, point
        repair_unsettled(here, ports)
        is_clean(ports, here)
        assert ingest(ports, here, 0) == "forgotten"
        assert ingest(ports, here, 1) == "forgotten"
        assert found_version(ports, here) is None, point
        assert ingest(ports, here, 3) == "ingested"
        assert found_version(ports, here) == 3, point


def is_clean(ports: Ports, collection: str, *names: str) -> None:
    """Check that nothing is left of other versions: no record to settle, no name and no posting."""
    assert list(ports.modules.unsettled(collection)) == []
    assert ports.modules.vocabulary(collection).names == tuple(sorted({*names, SHARED} if names else ()))
    for name in (f"vtk{name}" for name in NAMES):
        recalled = ports.modules.recall(collection, [key_of(name)], match="exact")[key_of(name)]
        assert set(recalled.all) == ({0} if name in names else set()), name


def test_versions_that_are_written_at_once_leave_the_newest_whole(
    ports: Ports, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lot = random.Random(13)
    documents = range(5)
    work = [(number, version) for number in documents for version in range(len(NAMES))]
    lot.shuffle(work)

    def until_done(number: int, version: int) -> None:
        for _ in range(100):
            try:
                ingest(ports, collection, version, number=number)
            except Unavailable:  # another one was first: the job comes again
                continue
            return
        raise AssertionError((number, version))

    with ThreadPoolExecutor(4) as writers:
        for done in [writers.submit(until_done, *one) for one in work]:
            done.result()
    assert [found_version(ports, collection, number) for number in documents] == [3] * len(documents)
    repair_unsettled(collection, ports)
    assert list(ports.modules.unsettled(collection)) == []
    assert ports.modules.vocabulary(collection).names == ("vtkActor", "vtkDelta")


def stand_still_before(call: str, number: int, ports: Ports, collection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a writer stand still before such a call of MongoDB; the server ends its transaction, and version 2 comes."""
    honest = getattr(pymongo.collection.Collection, call)
    calls = itertools.count(1)

    def stand_still(*given: Any, **options: Any) -> Any:
        if next(calls) < number:
            return honest(*given, **options)
        monkeypatch.setattr(pymongo.collection.Collection, call, honest)
        other = ThreadPoolExecutor(1)
        with psycopg.connect(ports.words._pool.conninfo, autocommit=True) as server:  # type: ignore[attr-defined]
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE state = 'idle in transaction' AND datname = current_database()"
            )
        assert other.submit(ingest, ports, collection, 2).result() == "ingested"
        return honest(*given, **options)

    monkeypatch.setattr(pymongo.collection.Collection, call, stand_still)


def is_version_2(ports: Ports, collection: str) -> None:
    """Check that version 2 is stored whole, now and after what comes late."""
    assert found_version(ports, collection) == 2
    assert ingest(ports, collection, 1) == "superseded"
    repair_unsettled(collection, ports)
    assert ingest(ports, collection, 2) == "unchanged"
    assert found_version(ports, collection) == 2
    is_clean(ports, collection, "vtkGamma")


@pytest.mark.parametrize("write", [ingest, drop])
@pytest.mark.parametrize(("call", "number"), [("find", 1), ("find", 2), ("bulk_write", 1)])
def test_a_writer_of_mongodb_that_stood_still_cannot_undo_what_was_written_since(
    on_mongo: Ports,
    collection: str,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Ports, str, int], object],
    call: str,
    number: int,
) -> None:
    """The server ended its transaction meanwhile, so that another writer was let in."""
    ingest(on_mongo, collection, 0)
    stand_still_before(call, number, on_mongo, collection, monkeypatch)
    with pytest.raises(Unavailable):
        write(on_mongo, collection, 1)
    is_version_2(on_mongo, collection)


@pytest.mark.parametrize(("call", "number"), [("find", 2), ("find", 3), ("find", 4), ("bulk_write", 1)])
def test_a_repair_of_mongodb_that_stood_still_cannot_undo_what_was_written_since(
    on_mongo: Ports, collection: str, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    """The first ``find`` lists what is to be repaired."""
    ingest(on_mongo, collection, 0)
    with pytest.raises(Died), dying_after(1, monkeypatch):
        ingest(on_mongo, collection, 1)
    assert list(on_mongo.modules.unsettled(collection)) == [0]
    stand_still_before(call, number, on_mongo, collection, monkeypatch)
    with pytest.raises(Unavailable):
        repair_unsettled(collection, on_mongo)
    is_version_2(on_mongo, collection)
