"""A search by vectors, and the pending rows that join it by text."""

from dataclasses import replace

import pytest

from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.search.choose import choose_messages
from querymill_workers.retrievers.messages.search.matches import CalibratedQuestion, Gap, MessageMatches
from querymill_workers.retrievers.messages.search.recall import recall_vectors
from querymill_workers.retrievers.messages.search.understand import MessageQuestion
from querymill_workers.text.calibration import IDENTITY, Calibration
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import session
from tests.fixtures.world import World

EVERY = MessageFilter("c", ("message",))
SHIPS = CalibratedQuestion(vector_of("nine ships"), "words", IDENTITY, 0.99)


@pytest.fixture
def stored(world: World) -> World:
    """A world with two embedded messages and two pending ones."""
    world.run(IngestMessages(collection="c", documents=(session("s", "nine ships", "soup"),)))
    world.embeddings.fails_with = Unavailable("away")
    world.run(IngestMessages(collection="c", documents=(session("t", "ships at sea", "rope"),)))
    return world


def asked(query: str = "nine ships", **fields: object) -> MessageSearch:
    return MessageSearch.model_validate({"collection": "c", "query": query, "ranking": "vectors"} | fields)


def search_vectors(
    world: World, request: MessageSearch, question: CalibratedQuestion, where: MessageFilter = EVERY
) -> MessageMatches:
    searched = MessageQuestion(request, where, is_empty=False)
    recalled = recall_vectors(searched, question, world.ports)
    return choose_messages(searched, recalled, question, no_vector=Gap("embed", "", "pending"))


def test_a_match_says_how_its_similarity_came_about(stored: World) -> None:
    points = ((0.0, 0.0), (1.0, 0.8))
    question = replace(SHIPS, calibration=Calibration(points))
    best = search_vectors(stored, asked(), question).best[0]
    assert best.similarity == best.score == pytest.approx(0.8)
    assert best.found_by == ("vector",)
    assert best.explanation == {
        "formula": "similarity = calibrated(cosine)",
        "cosine": best.row.raw,
        "calibration": [[0.0, 0.0], [1.0, 0.8]],
    }
    plain = search_vectors(stored, asked(), SHIPS).best[0]
    assert plain.explanation["formula"] == "similarity = cosine"


def test_pending_rows_join_at_the_similarity_of_text_whatever_the_threshold(stored: World) -> None:
    found = search_vectors(stored, asked("which ships"), SHIPS)
    assert [(match.row.content, match.score) for match in found.best] == [
        ("nine ships", pytest.approx(1)), ("ships at sea", 0.5),
    ]  # fmt: skip
    assert (found.mode, found.total, found.skipped, found.gaps) == ("vector", 2, 2, ())


def test_embedded_rows_are_not_found_by_text_again(stored: World) -> None:
    away = replace(SHIPS, vector=vector_of("quite another thing"))
    found = search_vectors(stored, asked("which ships"), away)
    assert [match.row.session_id for match in found.best] == ["t"]
    assert found.best_below_threshold == away.best_similarity(
        stored.ports.messages.nearest(EVERY, away.vector, model="words", limit=1, floor=-2).rows
    )


def test_pending_rows_that_cannot_be_searched_by_words_are_named_as_missing(stored: World) -> None:
    stored.words.fails_with = Refused("stale")
    found = search_vectors(stored, asked("which ships"), SHIPS)
    assert ([match.row.content for match in found.best], found.gaps) == (
        ["nine ships"],
        (("words", "stale", "invalid"),),
    )


def test_without_a_row_to_compare_nothing_is_found_and_the_rows_are_counted(stored: World) -> None:
    found = search_vectors(stored, asked(), replace(SHIPS, model="other"))
    assert (found.compared, found.skipped, found.best, found.best_below_threshold) == (False, 4, [], None)


def test_where_every_row_is_pending_the_choice_of_text_is_left_to_the_search(stored: World) -> None:
    pending = replace(EVERY, session_id="t")
    found = search_vectors(stored, asked("which ships"), SHIPS, pending)
    assert (found.compared, found.skipped, found.best, found.gaps) == (False, 2, [], ())
