"""A search by text: rows that contain the question, then rows that have its words."""

import pytest

from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.search import recall
from querymill_workers.retrievers.messages.search.choose import choose_by_text
from querymill_workers.retrievers.messages.search.matches import Gap, MessageMatches
from querymill_workers.retrievers.messages.search.recall import candidates_of, rank_by_words, recall_text
from querymill_workers.retrievers.messages.search.understand import MessageQuestion
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import session
from tests.fixtures.world import World

EVERY = MessageFilter("c", ("message",))


def asked(query: str, **fields: object) -> MessageSearch:
    return MessageSearch.model_validate({"collection": "c", "query": query, "ranking": "vectors"} | fields)


def ingest(world: World, *texts: str, session_id: str = "s") -> None:
    world.run(IngestMessages(collection="c", documents=(session(session_id, *texts),)))


def search_text(world: World, request: MessageSearch, where: MessageFilter = EVERY, *, why: str = "") -> MessageMatches:
    recalled = recall_text(MessageQuestion(request, where, is_empty=False), where, world.ports, model="words")
    return choose_by_text(request, recalled, Gap("embed", why, "pending"))


def found(world: World, query: str, **fields: object) -> list[str]:
    matches = search_text(world, asked(query, **fields))
    return [match.row.content for match in matches.best]


@pytest.mark.parametrize(("limit", "candidates"), [(1, 50), (12, 50), (13, 52), (200, 800)])
def test_each_ranking_gives_four_rows_a_hit_and_fifty_at_least(limit: int, candidates: int) -> None:
    assert candidates_of(asked("q", limit=limit)) == candidates


def test_a_row_that_contains_the_question_is_not_found_by_its_words_again(world: World) -> None:
    ingest(world, "nine ships", "ships, nine of them", "soup", "our nine ships")
    matches = search_text(world, asked("nine ships"), why="away")
    assert [match.row.content for match in matches.best] == ["our nine ships", "nine ships", "ships, nine of them"]
    assert [match.found_by for match in matches.best] == [("substring",), ("substring",), ("words",)]
    assert (matches.total, matches.total_is_exact, matches.compared) == (3, True, False)
    assert matches.gaps == (("embed", "away", "pending"),)


def test_rows_with_the_same_score_are_newest_first(world: World) -> None:
    ingest(world, "old ship", "old rope", "new ship")
    assert found(world, "ships rope") == ["old rope", "new ship", "old ship"]


def test_the_limit_cuts_after_both_were_counted(world: World) -> None:
    ingest(world, *[f"ship number{number}" for number in range(9)])
    matches = search_text(world, asked("which ship", limit=4))
    assert (len(matches.best), matches.total, matches.total_is_exact) == (4, 9, True)


def test_more_rows_than_candidates_make_the_total_a_lower_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "MIN_CANDIDATES", 5)
    ingest(world, *[f"ship number{number}" for number in range(9)])
    matches = search_text(world, asked("which ship", limit=1))
    assert (matches.total, matches.total_is_exact) == (5, False)


def test_an_index_of_another_tokeniser_is_named_once_for_each_type(world: World) -> None:
    ingest(world, "nine ships", "soup")
    world.words.fails_with = Refused("stale")
    both = MessageFilter("c", ("message", "context"))
    matches = search_text(world, asked("nine ships"), both, why="away")
    assert matches.gaps == (("embed", "away", "pending"), ("words", "stale", "invalid"), ("words", "stale", "invalid"))
    assert {match.found_by for match in matches.best} == {("substring",)}


def test_a_ranking_by_words_comes_with_cosines_if_a_vector_is_given(world: World) -> None:
    ingest(world, "nine ships", "soup")
    request = asked("ships")
    ranking = rank_by_words(request, EVERY, "message", world.ports, model="words", vector=vector_of("nine ships"))
    assert [row.raw for row in ranking.rows] == [pytest.approx(1)]
    (other,) = rank_by_words(request, EVERY, "message", world.ports, model="other", vector=vector_of("ships")).rows
    (without,) = rank_by_words(request, EVERY, "message", world.ports, model="words").rows
    assert (other.raw, without.raw, ranking.whole) == (None, None, True)


def test_only_the_words_of_the_session_that_is_asked_for_are_ranked(world: World) -> None:
    for number in range(60):
        ingest(world, "ship ship ship", session_id=f"other{number}")
    ingest(world, "a ship and much else besides", session_id="s")
    where = MessageFilter("c", ("message",), session_id="s")
    ranking = rank_by_words(asked("ship"), where, "message", world.ports, model="words")
    assert [row.session_id for row in ranking.rows] == ["s"]
    assert set(ranking.hits) == {ranking.rows[0].vector_id}
