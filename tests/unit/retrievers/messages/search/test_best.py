"""Ranking "best": the words of neighbours, joined with vectors."""

from typing import Any

import pytest

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.messages.ports import NEIGHBOURS
from querymill_workers.retrievers.messages.reindex import reindexed
from querymill_workers.text.calibration import Calibration
from tests.fixtures.chats import session
from tests.fixtures.world import World


def take_in(world: World, *sessions: ChatSession) -> None:
    for given in sessions:
        world.result(world.run(IngestMessages(collection="chats", documents=(given,))))


def search(world: World, query: str, **fields: object) -> MessageResult:
    request = MessageSearch.model_validate({"collection": "chats", "query": query} | fields)
    result = world.result(world.run(request))
    assert isinstance(result, MessageResult)
    return result


def ids(result: MessageResult) -> list[str | None]:
    return [hit.message_id for hit in result.results]


def talk(session_id: str, *lines: tuple[str, str]) -> ChatSession:
    spoken = session(session_id, *[text for _, text in lines]).model_dump(mode="json")
    for message, (speaker, _) in zip(spoken["messages"], lines, strict=True):
        message["user_name"] = speaker
    return ChatSession.model_validate(spoken)


def test_an_answer_is_found_by_the_words_of_its_question(world: World) -> None:
    take_in(world, session("s", "where does the yacht lie", "in Lisbon", "a fine place", "thanks", "bye"))
    world.embeddings.fails_with = Unavailable("away")
    assert ids(search(world, "where does the yacht lie")) == ["a", "b", "c"]


def test_vectors_join_at_a_quarter_and_no_threshold_cuts(world: World) -> None:
    take_in(world, session("s", "the fleet counts nine ships", "soup for lunch"))
    result = search(world, "ships of the fleet")
    assert (result.mode, result.similarity_threshold, result.complete) == ("hybrid", None, True)
    assert ids(result)[0] == "a"
    assert result.results[0].explanation["weights"] == {"vector": 0.25, "words": 1.0}
    assert result.results[0].explanation["rrf_k"] == 10


def test_a_threshold_that_is_given_cuts_whichever_ranking_found_it(world: World) -> None:
    take_in(world, session("s", "ships", "ships and soup and bread and wine and cheese"))
    assert set(ids(search(world, "ships"))) == {"a", "b"}
    result = search(world, "ships", similarity_threshold=0.8)
    assert ids(result) == ["a"]
    assert result.results[0].found_by == ("vector", "words")


@pytest.mark.parametrize("query", [".", "?!", "😀🎉", "—"])
def test_a_query_without_a_letter_or_digit_finds_nothing(world: World, query: str) -> None:
    take_in(world, session("s", "ships. soup!", "…"))
    result = search(world, query)
    assert (result.results, result.total) == ((), 0)
    assert result.why == "the query has no letter or digit"


def test_the_limit_never_reorders_the_head(world: World) -> None:
    take_in(world, session("s", *[f"ship number {place} of the fleet" for place in range(26)]))
    assert ids(search(world, "ship of the fleet", limit=20))[:5] == ids(search(world, "ship of the fleet", limit=5))


LOG = (
    ("Ada", "how do I mount a disk"), ("Bob", "good evening"), ("Cy", "bad weather"), ("Dee", "mount Fuji is high"),
    ("Bob", "Ada: with fstab"),
)  # fmt: skip


def test_the_excluded_message_lends_its_words_to_nobody_unless_its_answers_are_asked_for(world: World) -> None:
    take_in(world, talk("log", *LOG))
    world.embeddings.fails_with = Unavailable("away")
    asked: dict[str, Any] = {"session_id": "log", "exclude_message_id": "a", "limit": 10}
    assert ids(search(world, "how do I mount a disk", **asked))[0] == "d"
    assert "e" not in ids(search(world, "disk", **asked))
    first = search(world, "how do I mount a disk", answers_first=True, **asked)
    assert ids(first)[0] == "e"
    assert "a" not in ids(first)


def test_the_excluded_message_of_another_session_still_lends_its_words(world: World) -> None:
    take_in(world, talk("log", *LOG), talk("other", *LOG))
    world.embeddings.fails_with = Unavailable("away")
    found = search(world, "disk", exclude_message_id="a", exclude_session_id="log", limit=20)
    assert {hit.session_id for hit in found.results} == {"other"}


def entries(world: World) -> dict[str, Any]:
    hits = world.words.search("chats", NEIGHBOURS, "alpha beta gamma delta epsilon zeta", limit=99)
    return {hit.id: hit.scored for hit in hits}


@pytest.mark.parametrize(
    "after",
    [
        talk("s", ("Ada", "alpha"), ("Bob", "beta"), ("Ada", "gamma"), ("Bob", "delta")),
        talk("s", ("Ada", "alpha"), ("Bob", "beta"), ("Cy", "gamma")),
        talk("s", ("Ada", "alpha"), ("Bob", "epsilon"), ("Ada", "gamma")),
        talk("s", ("Ada", "alpha"), ("Bob", "beta")),
        talk("s", ("Ada", "alpha"), ("Bob", "beta"), ("Bob", "gamma"), ("Cy", "delta"), ("Cy", "Ada: epsilon zeta")),
        talk("s", ("Cy", "alpha"), ("Bob", "beta"), ("Ada", "gamma")),
    ],
)
def test_after_any_change_the_words_of_neighbours_are_as_if_nothing_else_had_been_there(
    world: World, after: ChatSession
) -> None:
    take_in(world, talk("s", ("Ada", "alpha"), ("Bob", "beta"), ("Ada", "gamma")))
    take_in(world, after)
    changed = entries(world)
    world.words.drop_all("chats", NEIGHBOURS)
    assert list(reindexed("chats", world.ports))
    assert changed == entries(world)


def test_forgetting_takes_the_words_of_neighbours_with_it(world: World) -> None:
    take_in(world, talk("s", ("Ada", "alpha"), ("Bob", "beta")), talk("t", ("Ada", "gamma")))
    world.result(world.run(DropDocuments(collection="chats", retriever="messages", ids=("s",))))
    assert world.words.count("chats", NEIGHBOURS) == 1
    assert not world.words.search("chats", NEIGHBOURS, "alpha", limit=9)


def test_a_model_without_a_profile_is_said_to_be_uncalibrated(world: World) -> None:
    take_in(world, session("s", "ships"))
    result = search(world, "ships")
    assert (result.uncalibrated, result.results[0].band) == (True, "uncalibrated")
    world.with_ports(calibration=Calibration(((0.2, 0.0), (1.0, 1.0))))
    result = search(world, "ships")
    assert (result.uncalibrated, result.results[0].band) == (False, "exact")
