"""What a dropped session leaves behind: nothing, once the ranks of the others have followed."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.documents import DropDocuments
from querymill_workers.dispatch.ports import Ports
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from tests.fakes.jobs import KeepingBoard
from tests.fakes.ports import memory_ports
from tests.fixtures.boards import new_board_of
from tests.fixtures.conversations import Store, settle
from tests.fixtures.document_suite import drop, run
from tests.fixtures.people import ingestion
from tests.fixtures.server_ports import stored_in


@pytest.fixture(params=["memory", "postgres"])
def ports(request: pytest.FixtureRequest) -> Iterator[Ports]:
    board = new_board_of(KeepingBoard)
    if request.param == "memory":
        yield memory_ports(board=board)
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield stored_in(pool, board=board)


def put(ports: Ports, collection: str, sessions: int) -> Store:
    """Ingest sessions of two messages, and bring the ranks up to date."""
    for number in range(sessions):
        messages = [{"message_id": "a", "role": "user", "text": f"ships {number}"}, {"message_id": "b", "text": "nine"}]
        line: dict[str, Any] = {"session_id": f"s{number}", "started_at": "2026-01-01T10:00:00Z", "messages": messages}
        run(ports, ingestion(KIND, collection, line))
    store = Store(ports.conversations, ports.ranks)
    settle(store, collection)
    return store


def noted(database_url: str, collection: str) -> list[str]:
    """The sessions of whose changes something is noted."""
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        query = "SELECT session_id FROM conversation_changes WHERE collection = %s ORDER BY 1"
        return [session_id for (session_id,) in connection.execute(query, [collection])]


def test_nothing_of_a_collection_is_left(ports: Ports, collection: str) -> None:
    store = put(ports, collection, 3)
    store.rebuild(collection, "r")
    before = ports.conversations.generation(collection)
    run(ports, DropDocuments(retriever=KIND, collection=collection, everything=True))
    assert collection not in ports.documents[KIND].collections()
    assert ports.ranks.waiting(collection) == 0
    assert ports.conversations.generation(collection) > before
    assert ports.words.search(collection, SPACE, "ships nine", limit=9) == []


@pytest.mark.parametrize("ports", ["postgres"], indirect=True)
def test_nothing_is_noted_of_a_dropped_session_once_the_ranks_have_followed(
    ports: Ports, collection: str, database_url: str
) -> None:
    store = put(ports, collection, 3)
    drop(ports, KIND, collection, "s1")
    assert noted(database_url, collection) == ["s0", "s1", "s2"]
    settle(store, collection)
    assert noted(database_url, collection) == ["s0", "s2"]


@pytest.mark.parametrize("ports", ["postgres"], indirect=True)
def test_a_rebuild_that_read_a_session_before_it_was_dropped_leaves_nothing_of_it(
    ports: Ports, collection: str, database_url: str
) -> None:
    store, ranks = put(ports, collection, 2), ports.ranks
    ranks.begin(collection, "slow", mode="count")
    table = ranks.table(collection)
    drop(ports, KIND, collection, "s1")
    settle(store, collection)
    assert noted(database_url, collection) == ["s0", "s1"], "the rebuild must have it wait again"
    ranks.draft(collection, "slow", 0, ReferenceSearch(table).find(table.part(0, parts=1)), table)
    assert ranks.publish(collection, "slow", parts=1) is not None
    settle(store, collection)
    assert noted(database_url, collection) == ["s0"]


def test_the_ranks_are_asked_to_follow_a_drop(ports: Ports, collection: str) -> None:
    put(ports, collection, 3)
    before = set(ports.board.recent())
    for each in ("s0", "s1", "unknown"):
        drop(ports, KIND, collection, each)
    asked = [ports.board.picture(job_id).request for job_id in ports.board.recent() if job_id not in before]
    assert [request for request in asked if isinstance(request, RecomputeRanks)] == asked
    assert len(asked) <= 1
