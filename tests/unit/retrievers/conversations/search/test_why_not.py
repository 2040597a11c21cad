"""Why a session is not among the hits: the reasons, with their numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_shared.contracts.why_not import Absence
from querymill_workers.retrievers.conversations.search.why_not import GATES
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


def explain(world: World, session_id: str, query: str = "ships", **fields: object) -> Absence:
    asked = {"collection": "talks", "query": query, "now": NOW, "vectors": False, "why_not": session_id} | fields
    result = world.result(world.run(ConversationSearch.model_validate(asked)))
    assert isinstance(result, ConversationResult)
    assert result.why_not is not None
    assert (result.why_not.failed is None) == (session_id in {hit.session_id for hit in result.results})
    return result.why_not


def lost_at(found: Absence) -> tuple[str, str]:
    assert found.failed is not None
    return found.failed.name, found.failed.said


@pytest.mark.parametrize(
    ("session_id", "query", "gate", "reason"),
    [
        ("nowhere", "ships", "collection", "the collection has no such session"),
        ("old", "ships last week", "time", "none of its messages is from the time asked for"),
        ("soup", "ships", "words", "it has none of the words that were searched"),
    ],
)
def test_the_first_gate_that_a_session_did_not_pass_is_named(
    talks: World, session_id: str, query: str, gate: str, reason: str
) -> None:
    assert explain(talks, session_id, query) == Absence.at(session_id, GATES, gate, reason)


def test_a_session_that_does_not_pass_the_filter_fails_there(talks: World) -> None:
    found = explain(talks, "s00", filter={"user_name": "nobody"})
    assert lost_at(found) == ("filter", "it does not pass the filter")


def test_a_hit_passes_every_gate(talks: World) -> None:
    assert explain(talks, "s00") == Absence.as_hit("s00", GATES, 1)


def test_a_session_behind_the_candidates_learns_both_scores(talks: World) -> None:
    gate, reason = lost_at(explain(talks, "weak"))
    assert gate == "candidates"
    own, least = (float(number) for number in (reason.split()[3].rstrip(";"), reason.split()[-1]))
    assert reason == f"its BM25 is {own:.4f}; the last of the 50 candidates has {least:.4f}"
    assert own < least


def test_a_candidate_behind_the_hits_learns_its_place(talks: World) -> None:
    gate, reason = lost_at(explain(talks, "s20", diversify=False))
    assert gate == "score"
    assert reason.startswith("place 21 of 50 by score (")
    assert reason.endswith("), 10 are returned")
    assert explain(talks, "s20", diversify=False, top_n=21).place == 21


def test_a_session_whose_place_another_took_for_its_age_learns_its_place_by_score(world: World) -> None:
    for number, days in enumerate([40.0, 40.0, 40.0, 40.0, 0.1]):
        at = NOW - timedelta(days=days)
        messages = (ChatMessage(text="ships", created_at=at),)
        session = ChatSession(session_id=f"s{number}", started_at=at, messages=messages)
        world.result(world.run(IngestConversations(collection="talks", documents=(session,))))
    gate, reason = lost_at(explain(world, "s3", scoring="bm25", diversify=True, top_n=4))
    assert (gate, reason[:12], reason[-15:]) == ("diversification", "place 4 of 5", " 4 are returned")


def test_a_question_whose_words_nobody_has_says_that_of_every_session(talks: World) -> None:
    assert lost_at(explain(talks, "s00", "tomatoes"))[0] == "words"


def test_a_search_that_asks_about_no_session_explains_none(talks: World) -> None:
    result = talks.result(talks.run(ConversationSearch(collection="talks", query="ships", now=NOW)))
    assert isinstance(result, ConversationResult)
    assert result.why_not is None
