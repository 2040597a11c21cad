"""Why a session is not among the hits: the reasons, with their numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch, WhyNot
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from tests.fixtures.world import World

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


@pytest.fixture
def talks(world: World) -> World:
    """60 sessions with one word, one with it amid others, an old one, and one about something else."""
    crowd = {f"s{number:02}": ("ships ships", 2.0) for number in range(60)}
    rest = {"weak": ("a ship of them all", 2.0), "old": ("ships", 200.0), "soup": ("soup", 2.0)}
    for session_id, (text, days) in (crowd | rest).items():
        at = NOW - timedelta(days=days)
        messages = (ChatMessage(message_id="a", text=text, created_at=at),)
        session = ChatSession(session_id=session_id, started_at=at, messages=messages)
        world.result(world.run(IngestConversations(collection="talks", documents=(session,))))
    return world


def explain(world: World, session_id: str, query: str = "ships", **fields: object) -> WhyNot:
    asked = {"collection": "talks", "query": query, "now": NOW, "vectors": False, "why_not": session_id} | fields
    result = world.result(world.run(ConversationSearch.model_validate(asked)))
    assert isinstance(result, ConversationResult)
    assert result.why_not is not None
    assert (result.why_not.gate is None) == (session_id in {hit.session_id for hit in result.results})
    return result.why_not


@pytest.mark.parametrize(
    ("session_id", "query", "gate", "reason"),
    [
        ("nowhere", "ships", "collection", "the collection has no such session"),
        ("old", "ships last week", "time", "none of its messages is from the time asked for"),
        ("soup", "ships", "words", "it has none of the words that were searched"),
        ("s00", "ships", None, "it is hit 1"),
    ],
)
def test_the_first_gate_that_a_session_did_not_pass_is_named(
    talks: World, session_id: str, query: str, gate: str | None, reason: str
) -> None:
    assert explain(talks, session_id, query) == WhyNot.model_validate(
        {"session_id": session_id, "gate": gate, "reason": reason}
    )


def test_a_session_behind_the_candidates_learns_both_scores(talks: World) -> None:
    found = explain(talks, "weak")
    assert found.gate == "candidates"
    own, least = (float(number) for number in (found.reason.split()[3].rstrip(";"), found.reason.split()[-1]))
    assert found.reason == f"its BM25 is {own:.4f}; the last of the 50 candidates has {least:.4f}"
    assert own < least


def test_a_candidate_behind_the_hits_learns_its_place(talks: World) -> None:
    found = explain(talks, "s20", diversify=False)
    assert found.gate == "score"
    assert found.reason.startswith("place 21 of 50 by score (")
    assert found.reason.endswith("), 10 are returned")
    assert explain(talks, "s20", diversify=False, top_n=21).reason == "it is hit 21"


def test_a_session_whose_place_another_took_for_its_age_learns_its_place_by_score(world: World) -> None:
    for number, days in enumerate([40.0, 40.0, 40.0, 40.0, 0.1]):
        at = NOW - timedelta(days=days)
        messages = (ChatMessage(text="ships", created_at=at),)
        session = ChatSession(session_id=f"s{number}", started_at=at, messages=messages)
        world.result(world.run(IngestConversations(collection="talks", documents=(session,))))
    found = explain(world, "s3", scoring="bm25", diversify=True, top_n=4)
    assert (found.gate, found.reason[:12], found.reason[-15:]) == ("diversification", "place 4 of 5", " 4 are returned")


def test_a_question_whose_words_nobody_has_says_that_of_every_session(talks: World) -> None:
    assert explain(talks, "s00", "tomatoes").gate == "words"
