"""Recorded searches are asked again on a mill in memory: as they were, and with other fields."""

from collections.abc import Iterator

import pytest

from querymill import IngestMessages, MessageSearch
from querymill.testing import MemoryMill
from querymill_evaluation.cli.asking_again import Judgements, LeftOut, SearchToAsk, ask_again, to_ask
from querymill_evaluation.cli.record import REPLAY, latest_searches
from querymill_evaluation.recordings import RecordedSearch
from querymill_evaluation.replays import ReplayedSearch
from tests.fixtures.chats import session

SAID = ("the fleet counts nine ships", "soup for lunch", "ships carry soup")


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as mill:
        mill.submit(IngestMessages(collection="c", documents=(session("s", *SAID),))).result(timeout=10)
        yield mill


def recorded(mill: MemoryMill, *queries: str) -> list[RecordedSearch]:
    for query in queries:
        mill.submit(MessageSearch(query=query, collection="c")).result(timeout=10)
    return list(latest_searches(mill, 50, known=set()))


def replayed(mill: MemoryMill, asked: list[SearchToAsk | LeftOut]) -> list[ReplayedSearch | LeftOut]:
    searches = [each for each in asked if isinstance(each, SearchToAsk)]
    return list(ask_again(mill.labelled({REPLAY: "yes"}), searches, in_flight=2))


def test_without_options_each_search_is_compared_with_what_it_found(mill: MemoryMill) -> None:
    day = recorded(mill, "nine ships", "soup")
    assert [search.request.query for search in day] == ["nine ships", "soup"]
    found = replayed(mill, [to_ask(search, {}, Judgements(mill)) for search in day])
    assert {each.id for each in found if isinstance(each, ReplayedSearch)} == {search.id for search in day}
    assert all(each.before.found == each.after.found for each in found if isinstance(each, ReplayedSearch))
    assert list(latest_searches(mill, 50, known=set())) == day  # nobody asked what the replay asked


def test_with_options_each_search_is_asked_as_it_was_and_otherwise(mill: MemoryMill) -> None:
    day = recorded(mill, "ships", "soup")
    found = replayed(mill, [to_ask(search, {"limit": 1}, Judgements(mill)) for search in day])
    kept = [each for each in found if isinstance(each, ReplayedSearch)]
    assert [each.after.found for each in kept] == [each.before.found[:1] for each in kept]
    assert [len(each.after.found) for each in kept] == [1, 1]


def test_what_was_said_of_a_hit_is_known_when_its_question_is_asked_again(mill: MemoryMill) -> None:
    (search,) = recorded(mill, "soup")
    job = mill.job(search.id)
    best = job.result(timeout=10).results[0]
    job.feedback(best.vector_id, 3).result(timeout=10)
    asked = to_ask(search, {"limit": 1}, Judgements(mill))
    assert isinstance(asked, SearchToAsk)
    assert search.outcome is not None
    assert asked.grades == {search.outcome.found[0]: 3}


def test_a_field_that_a_kind_lacks_leaves_the_search_out_and_a_wrong_value_is_a_fault(mill: MemoryMill) -> None:
    (search,) = recorded(mill, "soup")
    lacking = to_ask(search, {"company": "Nordhav"}, Judgements(mill))
    assert lacking == LeftOut(search.id, "company: is no field of a search of kind 'messages'", is_fault=False)
    wrong = to_ask(search, {"limit": 0}, Judgements(mill))
    assert isinstance(wrong, LeftOut)
    assert (wrong.is_fault, wrong.reason.startswith("limit: ")) == (True, True)


def test_a_search_that_fails_costs_only_itself(mill: MemoryMill) -> None:
    day = recorded(mill, "soup")
    gone = day[0].model_copy(update={"id": "gone", "request": MessageSearch(query="soup", collection="none")})
    found = replayed(mill, [to_ask(search, {}, Judgements(mill)) for search in (gone, *day)])
    assert [each.name for each in found if isinstance(each, LeftOut)] == ["gone"]
    assert [each.id for each in found if isinstance(each, ReplayedSearch)] == [day[0].id]
