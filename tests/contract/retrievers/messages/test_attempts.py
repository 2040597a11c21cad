"""Writes of sessions that are repeated, since their worker died before the job ended: in memory and on PostgreSQL."""

from querymill_shared.contracts.ingest import SessionExtension
from querymill_workers.dispatch.ports import Ports
from querymill_workers.retrievers.messages.extend import extend_sessions
from querymill_workers.retrievers.messages.ingest import drop_session, store_sessions
from querymill_workers.retrievers.messages.ports import KIND, SPACES
from querymill_workers.versions.ports import Version
from tests.fixtures.chats import session


def at(number: int) -> Version:
    return Version(1_000 + number, f"job-{number}")


def store(ports: Ports, collection: str, number: int, *texts: str) -> str:
    (stored,) = store_sessions(collection, [session("s", *texts)], at(number), ports)
    return stored.outcome


def extend(ports: Ports, collection: str, number: int, after: int, *texts: str) -> str:
    added = session("s", *["x"] * after, *texts).messages[after:]
    extension = SessionExtension(session_id="s", after=after, messages=added)
    (extended,) = extend_sessions(collection, [extension], at(number), ports)
    return extended.outcome


def drop(ports: Ports, collection: str, number: int) -> None:
    with ports.versions.dropping(collection, KIND, "s", at(number)) as standing:
        if standing.reaches_known:
            drop_session(collection, "s", ports)


def texts(ports: Ports, collection: str) -> list[str]:
    return [message["text"] for message in ports.sessions.whole(collection, ["s"])["s"]["messages"]]


def test_a_session_that_is_stored_again_keeps_what_was_added_since(ports: Ports, collection: str) -> None:
    store(ports, collection, 1, "ships", "soup")
    assert extend(ports, collection, 5, 2, "rope") == "ingested"
    assert store(ports, collection, 1, "ships", "soup") == "unchanged"
    assert texts(ports, collection) == ["ships", "soup", "rope"]
    assert len(ports.words.search(collection, SPACES["message"], "rope", limit=9)) == 1


def test_a_session_that_was_dropped_is_stored_again_by_a_later_write_alone(ports: Ports, collection: str) -> None:
    store(ports, collection, 1, "ships", "soup")
    extend(ports, collection, 5, 2, "rope")
    drop(ports, collection, 4)
    assert ports.sessions.whole(collection, ["s"]) == {}
    assert store(ports, collection, 1, "ships", "soup") == "forgotten"
    assert store(ports, collection, 6, "ships", "soup") == "ingested"
    assert texts(ports, collection) == ["ships", "soup"]


def test_an_extension_that_is_repeated_after_the_next_one_changes_nothing(ports: Ports, collection: str) -> None:
    store(ports, collection, 1, "ships", "soup")
    extend(ports, collection, 5, 2, "rope")
    extend(ports, collection, 6, 3, "mast")
    assert extend(ports, collection, 5, 2, "rope") == "unchanged"
    assert extend(ports, collection, 7, 2, "oars") == "superseded"
    assert texts(ports, collection) == ["ships", "soup", "rope", "mast"]
