"""Sessions that grow by their new messages alone."""

import time
from typing import Any

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.ingest import Extend, ExtendResult
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from tests.fixtures.chats import session
from tests.fixtures.world import World


def ingest(world: World, *texts: str) -> None:
    world.run(IngestMessages(collection="chats", documents=(session("s", *texts),)))
    time.sleep(0.003)  # the order of acceptance is known to the millisecond


def grow(world: World, after: int, *texts: str) -> str:
    """Grow the session, and return what became of it."""
    messages = [message.model_dump(mode="json") for message in session("s", *["x"] * after, *texts).messages[after:]]
    growth: dict[str, Any] = {"session_id": "s", "after": after, "messages": messages}
    result = world.result(
        world.run(Extend.model_validate({"collection": "chats", "retriever": "messages", "documents": [growth]}))
    )
    assert isinstance(result, ExtendResult)
    time.sleep(0.003)
    return result.documents[0].outcome


def texts(world: World) -> list[str]:
    return [message["text"] for message in world.sessions.whole("chats", ["s"])["s"]["messages"]]


def test_a_session_grows_and_only_its_end_is_embedded(world: World) -> None:
    ingest(world, "nine ships", "tomato soup", "an oak", "the sail", "a mast")
    assert grow(world, 5, "the rudder") == "ingested"
    assert texts(world)[-2:] == ["a mast", "the rudder"]
    found = world.result(world.run(MessageSearch(collection="chats", query="rudder", limit=1)))
    assert isinstance(found, MessageResult)
    assert (found.results[0].content, found.results[0].message_number) == ("the rudder", 6)
    jobs = [job_id for job_id in world.board.recent(limit=20) if "embed_" in world.board.picture(job_id).record.kind]
    # The first makes two vectors of each of five messages, the second two of the new one and the contexts of two.
    assert sorted(world.result(job_id).total for job_id in jobs) == [4, 10]


def test_the_same_growth_again_changes_nothing(world: World) -> None:
    ingest(world, "nine ships")
    assert [grow(world, 1, "soup"), grow(world, 1, "soup")] == ["ingested", "unchanged"]
    assert texts(world) == ["nine ships", "soup"]


def test_a_growth_of_another_session_than_is_stored_leaves_it_alone(world: World) -> None:
    ingest(world, "nine ships")
    assert grow(world, 2, "soup") == "superseded"
    assert texts(world) == ["nine ships"]
    world.run(DropDocuments(retriever="messages", collection="chats", ids=("s",)))
    time.sleep(0.003)
    assert grow(world, 1, "soup") == "superseded"
    assert world.sessions.whole("chats", ["s"]) == {}
