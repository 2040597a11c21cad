"""The order of acceptance, refused and long messages, and what a search says of what was just written."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.messages.ingest import IngestMessages, IngestMessagesResult
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.contracts.vectors import EmbedDocumentsResult
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.messages.search import step
from querymill_workers.retrievers.messages.search.question_vector import FALLBACK_MARGIN_S
from tests.fakes.models import WordEmbeddings
from tests.fixtures.chats import session
from tests.fixtures.world import World


class Picky(WordEmbeddings):
    """Refuses a request that holds a text with the word "refused"."""

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        if any("refused" in text for text in texts):
            raise Unacceptable("embedding rejected: HTTP 400", words="input too long")
        return super().embed(texts, input_type=input_type, caller=caller)


def ingest_of(given: ChatSession) -> IngestMessages:
    return IngestMessages(collection="chats", documents=(given,))


def take_in(world: World, *sessions: ChatSession) -> None:
    for given in sessions:
        world.result(world.run(ingest_of(given)))


def search(world: World, query: str, **fields: object) -> MessageResult:
    given = {"collection": "chats", "query": query, "ranking": "vectors", "similarity_threshold": None} | fields
    result = world.result(world.run(MessageSearch.model_validate(given)))
    assert isinstance(result, MessageResult)
    return result


def texts(result: MessageResult) -> list[str]:
    return [hit.content for hit in result.results]


def test_a_refused_message_is_found_by_its_words_and_the_others_by_vector(world: World) -> None:
    world.with_ports(embeddings=Picky())
    request = ingest_of(session("s", *[f"message {number}" for number in range(20)], "refused ships", ids=[None] * 21))
    ingested = world.result(world.run(request))
    assert isinstance(ingested, IngestMessagesResult)
    embedded = world.result(str(ingested.embedding_jobs[0]))
    assert isinstance(embedded, EmbedDocumentsResult)
    # The message, and the contexts of its three neighbours and itself.
    refused = world.ports.vectors["messages"].count_refused("chats")
    assert (embedded.total, embedded.complete, refused) == (38, False, 4)
    found = search(world, "message", limit=50)
    assert (found.mode, len(found.results), found.skipped, found.complete) == ("vector", 20, 1, True)
    assert texts(search(world, "which ships"))[0] == "refused ships"
    again = world.result(world.run(request))
    assert isinstance(again, IngestMessagesResult)
    assert not again.embedding_jobs


def test_a_long_message_is_found_by_any_part_of_it_and_is_one_hit(world: World) -> None:
    sentences = [f"line {number} tells of ropes and sails." for number in range(2_000)]
    long = " ".join([*sentences[:1_500], "The herring is red.", *sentences[1_500:]])
    assert len(long) > 70_000
    take_in(world, session("s", "soup", long))
    found = search(world, "the herring is red", include_context=True)
    (hit,) = [hit for hit in found.results if hit.message_id == "b"]
    place = hit.explanation["passage"]
    assert long in hit.content
    assert "herring" in hit.content[place["start"] : place["end"]]
    assert place["end"] - place["start"] < 4_000
    assert len(found.results) == found.total == 2
    world.embeddings.fails_with = Unavailable("away")
    assert texts(search(world, "herring")) == [long]


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_message_that_was_just_ingested_keeps_a_place_and_the_result_says_what_waits(
    world: World, hybrid: bool
) -> None:
    take_in(world, *[session(f"s{number}", "how many ships are there") for number in range(10)])
    world.embeddings.fails_with = Unavailable("away")
    take_in(world, session("new", "a zeppelin lands", "soup"))
    world.embeddings.fails_with = None
    found = search(world, "how many ships are there, and is there a zeppelin", hybrid=hybrid, limit=5)
    assert texts(found).count("a zeppelin lands") == 1
    assert len(found.results) == 5
    assert [(part.stage, part.reason) for part in found.degraded] == [("embed", "2 rows pending")]
    assert not found.complete
    only = search(world, "ships", session_id="s1", hybrid=hybrid)
    assert (only.complete, only.degraded) == (True, ())


def test_a_message_and_its_context_are_one_hit(world: World) -> None:
    take_in(world, session("s", "nine ships", "soup", "rope"))
    found = search(world, "nine ships", include_context=True, limit=10)
    assert sorted(hit.message_id or "" for hit in found.results) == ["a", "b", "c"]
    assert found.total == 3
    assert found.results[0].vector_type == "message"


def test_a_message_is_excluded_in_its_own_session_only(world: World) -> None:
    take_in(world, session("alice", "ships"), session("bob", "ships"))
    found = search(world, "ships", exclude_message_id="a", exclude_session_id="alice")
    assert [hit.session_id for hit in found.results] == ["bob"]
    assert search(world, "ships", exclude_message_id="a").results == ()


def test_a_cached_vector_needs_no_time(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    world.embeddings.known.add("nine ships")
    request = MessageSearch(collection="chats", query="nine ships", ranking="vectors", deadline=0.2)
    claimed = world.board.claim(world.submit(request), "search")
    assert claimed is not None
    world.embeddings.asked.clear()
    step(replace(claimed, expires_at=world.ports.clock() + FALLBACK_MARGIN_S / 2), request, world.ports)
    result = world.result(claimed.job_id)
    assert isinstance(result, MessageResult)
    assert (result.mode, world.embeddings.asked) == ("vector", [])


@pytest.mark.parametrize("fields", [{}, {"hybrid": True}, {"include_context": True}])
def test_a_filter_holds_in_every_mode_and_hits_carry_their_metadata(world: World, fields: dict[str, object]) -> None:
    take_in(
        world, session("s", "nine ships", user_name="Ada", topic="boats"), session("t", "ten ships", user_name="Bob")
    )
    for provider in (None, Unavailable("away")):
        world.embeddings.fails_with = provider
        found = search(world, "ships", filter={"user_name": "Ada"}, **fields)
        assert [(hit.session_id, hit.metadata) for hit in found.results] == [("s", {"topic": "boats"})]
        assert search(world, "ships", filter={"topic": "cars"}, **fields).results == ()
        unasked = search(world, "ships", **fields)
        assert len(unasked.results) == 2
        assert all(hit.metadata is None for hit in unasked.results)
        assert [hit.metadata for hit in search(world, "ten ships", metadata=True, limit=1, **fields).results] == [{}]


def test_what_the_board_holds_of_a_forgotten_session_goes_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("querymill_shared.board.erasure.READABLE_MS", 0)
    world.result(world.run(IngestMessages(collection="c", documents=(session("s", "nine ships"),))))
    searched = world.run(MessageSearch(collection="c", query="ships", similarity_threshold=None))
    elsewhere = world.run(MessageSearch(collection="other", query="ships", similarity_threshold=None))
    world.result(world.run(DropDocuments(collection="c", retriever="messages", ids=("s",))))
    with pytest.raises(UnknownJob):
        world.board.picture(searched)
    assert world.result(elsewhere).state == "done"
