from datetime import UTC, datetime

import pytest

from querymill_shared.contracts.messages import ChatSession, IngestSession, MessageResult, MessageSearch
from querymill_workers.ports import Refused, Unavailable
from tests.unit.flows.conftest import World


def session(session_id: str, *texts: str, **fields: object) -> ChatSession:
    """Build a session whose messages are a, b, c…, a minute apart."""
    messages = [
        {"message_id": chr(97 + place), "role": "user", "text": text, "created_at": f"2026-01-01T10:{place:02}:00Z"}
        for place, text in enumerate(texts)
    ]
    given = {"session_id": session_id, "started_at": "2026-01-01T10:00:00Z", "messages": messages} | fields
    return ChatSession.model_validate(given)


def take_in(world: World, *sessions: ChatSession, collection: str = "chats") -> None:
    for one in sessions:
        world.result(world.run(IngestSession(collection=collection, session=one)))


def search(world: World, query: str, collection: str = "chats", **fields: object) -> MessageResult:
    request = MessageSearch.model_validate({"collection": collection, "query": query} | fields)
    result = world.result(world.run(request))
    assert isinstance(result, MessageResult)
    return result


def ids(result: MessageResult) -> list[str | None]:
    return [hit.message_id for hit in result.results]


def test_the_message_that_means_the_same_is_found(world: World) -> None:
    take_in(world, session("s", "the fleet counts nine ships", "soup for lunch", name="Harbour", user_name="Ada"))
    result = search(world, "how many ships counts the fleet", similarity_threshold=0.5)
    (hit,) = result.results
    assert (result.mode, result.searched, result.total, result.total_is_exact) == ("vector", "exact", 1, True)
    assert (hit.message_id, hit.session_name, hit.user_name, hit.message_role) == ("a", "Harbour", "Ada", "user")
    assert hit.created_at == datetime(2026, 1, 1, 10, 0, tzinfo=UTC)


def test_a_session_given_is_the_only_one_searched(world: World) -> None:
    take_in(world, session("s", "ships at sea"), session("t", "ships at sea"))
    assert [hit.session_id for hit in search(world, "ships at sea", session_id="t").results] == ["t"]
    assert search(world, "ships at sea", session_id="nowhere").results == ()


@pytest.mark.parametrize("reason", [Unavailable("no answer in time"), Refused("the limit leaves no call")])
def test_without_a_vector_the_words_answer_and_it_says_why(world: World, reason: Exception) -> None:
    take_in(world, session("s", "the fleet counts nine ships", "soup for lunch", "ships"))
    world.embeddings.fails_with = reason
    result = search(world, "how many ships are there")
    assert (result.mode, result.why, result.searched) == ("text", str(reason), None)
    assert (result.complete, result.degraded[0].stage) == (False, "embed")
    assert ids(result) == ["c", "a"]
    assert {hit.similarity for hit in result.results} == {0.5}


def test_text_puts_the_newest_that_contains_the_question_first(world: World) -> None:
    take_in(world, session("s", "100% of ships", "ships and 100% of ships", "1000 of ships", "100 ships"))
    world.embeddings.fails_with = Unavailable("away")
    result = search(world, "100% OF ships")
    assert ids(result)[:2] == ["b", "a"]
    assert [hit.found_by for hit in result.results][:3] == [("substring",), ("substring",), ("words",)]
