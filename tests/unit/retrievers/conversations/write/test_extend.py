"""Many sessions that grow in one job, in memory: each as if its messages came alone."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.ingest import Extend, ExtendResult
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.sessions import MAX_MESSAGES
from querymill_shared.contracts.vectors import EmbedDocuments
from querymill_workers.retrievers.conversations.write.extend import SETTLE_S
from tests.fixtures.conversation_jobs import found, session
from tests.fixtures.jobs import accepted
from tests.fixtures.world import World


def growth(**texts: str) -> Extend:
    updates = [
        {
            "session_id": id_,
            "messages": [{"message_id": text, "text": text, "created_at": "2026-01-01T10:00:00Z"}],
        }
        for id_, text in texts.items()
    ]
    return Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": updates})


def outcomes(world: World, job_id: str) -> dict[str, tuple[str, int]]:
    result = world.result(job_id)
    assert isinstance(result, ExtendResult)
    return {each.document: (each.outcome, each.total) for each in result.documents}


def texts(world: World, session_id: str) -> list[str]:
    known = world.conversations.stored("chats", session_id)
    return [] if known is None else [message.text for message in known.session.messages]


def test_each_session_grows_and_one_job_embeds_them_all(world: World) -> None:
    for id_ in "ab":
        world.run(IngestConversations(collection="chats", documents=(session(id_, f"{id_} soup"),)))
    before = set(world.board.recent(limit=20))
    assert outcomes(world, world.run(growth(a="ships", b="tea", c="new"))) == {
        "a": ("ingested", 2), "b": ("ingested", 2), "c": ("ingested", 1)
    }  # fmt: skip
    assert (texts(world, "a"), texts(world, "b"), found(world, "tea")) == (
        ["a soup", "ships"],
        ["b soup", "tea"],
        ["b"],
    )
    made = [world.board.picture(id_).record for id_ in set(world.board.recent(limit=20)) - before]
    assert [job.kind for job in made].count("embed_documents") == 1


def test_a_session_that_was_dropped_or_replaced_since_stays_as_it_is_and_the_others_grow(world: World) -> None:
    whole = IngestConversations(collection="chats", documents=(session("b", "whole"),))
    requests: list[JobRequest] = [
        growth(a="late", b="late", c="on"),
        DropDocuments(collection="chats", retriever="conversations", ids=("a",)),
        whole,
    ]
    jobs = accepted(world, requests)
    for number in (1, 2, 0):
        world.ring(jobs[number], requests[number], requests[number].steps[0])
    # The drop has taken its session out of the waiting job.
    assert outcomes(world, jobs[0]) == {"b": ("superseded", 1), "c": ("ingested", 1)}
    assert (texts(world, "a"), texts(world, "b"), texts(world, "c")) == ([], ["whole"], ["on"])


def test_a_session_that_would_be_too_long_fails_alone(world: World) -> None:
    world.run(IngestConversations(collection="chats", documents=(session("a", *["x"] * MAX_MESSAGES),)))
    grown = outcomes(world, world.run(growth(a="more", b="tea")))
    assert (grown["a"][0], grown["b"]) == ("failed", ("ingested", 1))


def test_a_session_cannot_grow_twice_in_one_job() -> None:
    update = {"session_id": "a", "messages": [{"message_id": "1", "text": "x"}]}
    with pytest.raises(ValidationError, match="every id must occur once"):
        Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [update, update]})


def embedding_jobs(world: World) -> list[str]:
    kept = [world.board.picture(id_) for id_ in world.board.recent(limit=50)]
    return [picture.record.job_id for picture in kept if picture.record.kind == "embed_documents"]


def test_sessions_that_go_on_growing_wait_for_one_job_which_begins_once_they_had_time(world: World) -> None:
    for number in range(3):
        world.run(growth(a=f"a{number}", b=f"b{number}"))
    world.run(growth(b="b3"))
    (job_id,) = embedding_jobs(world)
    request = world.board.picture(job_id).request
    assert isinstance(request, EmbedDocuments)
    assert (request.documents, request.settle_s) == (("a", "b"), SETTLE_S)
    vectors = world.ports.vectors["conversations"]
    assert vectors.counts("chats", model="words").pending == 2, "nothing is embedded yet"
    assert found(world, "b3") == ["b"]

    world.let_pass(SETTLE_S)
    world.ring(job_id, request, "embed")
    assert world.board.picture(job_id).record.state == "done"
    assert vectors.counts("chats", model="words").pending == 0
    world.run(growth(a="more"))
    assert len(embedding_jobs(world)) == 2


def test_many_sessions_that_have_to_be_read_grow_as_each_alone_would(world: World) -> None:
    whole = [session(id_, f"{id_} soup", "bread") for id_ in ("a", "b", "c")]
    for each in whole:
        world.run(IngestConversations(collection="chats", documents=(each,)))
    again = growth(a="ships", b="tea", new="first").model_dump(mode="json")
    again["documents"][1]["messages"][0]["message_id"] = whole[1].messages[0].message_id  # the message is edited
    assert outcomes(world, world.run(Extend.model_validate(again))) == {
        "a": ("ingested", 3), "b": ("ingested", 2), "new": ("ingested", 1),
    }  # fmt: skip
    assert texts(world, "a") == ["a soup", "bread", "ships"]
    assert (texts(world, "b"), texts(world, "c")) == (["tea", "bread"], ["c soup", "bread"])
    assert (found(world, "tea"), found(world, "first")) == (["b"], ["new"])
