"""Why a message is not among the hits: the gate, its numbers, and a lever that holds when it is pulled."""

from functools import partial
from typing import Any

import pytest

from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import message_key
from querymill_shared.contracts.why_not import Absence
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.messages.rules.sessions import vector_id
from querymill_workers.retrievers.messages.search.why_not import GATES, ids_named, say_below, threshold_for
from tests.fixtures.absences import explained, failed
from tests.fixtures.chats import session
from tests.fixtures.world import World

TEXTS = ("the fleet counts nine ships", "the fleet sails", "ships and soup", "soup for lunch", "tomatoes")


@pytest.fixture
def chats(world: World) -> World:
    for name in ("s", "t"):
        world.result(world.run(IngestMessages(collection="chats", documents=(session(name, *TEXTS, user_name=name),))))
    return world


def ask(world: World, **fields: Any) -> MessageResult:
    asked = {"collection": "chats", "query": "how many ships counts the fleet", "session_id": "s"} | fields
    result = world.result(world.run(MessageSearch.model_validate(asked)))
    assert isinstance(result, MessageResult)
    return result


def id_of(world: World, text: str, **fields: Any) -> str:
    hits = ask(world, query=text, **fields).results
    return next(hit.vector_id for hit in hits if hit.content == text)


def explain(world: World, wanted: str, **fields: Any) -> Absence:
    return explained(partial(ask, world), GATES, lambda hit: [hit.vector_id], wanted, **fields)


@pytest.mark.parametrize("ranking", ["best", "vectors"])
def test_a_hit_has_passed_every_gate(chats: World, ranking: str) -> None:
    wanted = id_of(chats, TEXTS[0])
    absence = explain(chats, wanted, ranking=ranking, similarity_threshold=None)
    assert (absence.place, {gate.outcome for gate in absence.gates}) == (1, {"passed"})


@pytest.mark.parametrize(
    ("fields", "gate"),
    [
        ({"session_id": "t"}, "session"),
        ({"filter": {"user_name": "nobody"}}, "filter"),
        ({"exclude_message_id": "a"}, "exclusions"),
        ({"vector_type": "context"}, "exclusions"),
    ],
)
def test_what_may_not_be_found_fails_at_the_gate_that_forbids_it(
    chats: World, fields: dict[str, Any], gate: str
) -> None:
    assert failed(explain(chats, id_of(chats, TEXTS[0]), **fields)) == gate


@pytest.mark.parametrize(
    ("wanted", "fields"), [("s/b", {}), ("b", {}), ("s/b", {"session_id": None}), ("t/b", {"session_id": "t"})]
)
def test_a_message_is_named_by_its_session_and_its_own_id_too(
    chats: World, wanted: str, fields: dict[str, Any]
) -> None:
    found = ask(chats, why_not=wanted, limit=50, **fields).why_not
    assert found is not None
    assert (found.id, found.place is not None) == (wanted, True)


def test_in_a_search_of_all_sessions_the_own_id_of_a_message_names_none(chats: World) -> None:
    assert failed(explain(chats, "b", session_id=None)) == "collection"


def test_the_ids_that_a_name_may_mean() -> None:
    own = vector_id("s", message_key("b/c", 0), "message")
    assert own in ids_named("s/b/c", None)
    assert ids_named("b/c", "s")[-1] == own
    assert ids_named("/", None) == ["/"]


def test_what_is_not_stored_fails_first(chats: World) -> None:
    absence = explain(chats, "nothing")
    assert [gate.outcome for gate in absence.gates] == ["failed", *["unreached"] * 6]


def test_below_the_threshold_the_band_is_said_and_a_lower_one_brings_it_in(chats: World) -> None:
    absence = explain(chats, id_of(chats, TEXTS[2]), ranking="vectors", similarity_threshold=0.7, limit=1)
    assert failed(absence) == "threshold"
    assert absence.failed is not None
    assert absence.failed.said.endswith("the threshold is 0.700 (medium)")
    assert absence.lever is not None
    assert set(absence.lever.fields) == {"similarity_threshold", "limit"}


@pytest.mark.parametrize("ranking", ["best", "vectors"])
def test_behind_the_list_its_place_and_the_longer_list_are_said(chats: World, ranking: str) -> None:
    absence = explain(chats, id_of(chats, TEXTS[2]), ranking=ranking, similarity_threshold=None, limit=1)
    assert failed(absence) == "limit"
    assert absence.failed is not None
    assert absence.failed.said.endswith("1 is returned")
    assert absence.lever is not None


def test_without_a_vector_the_words_explain(chats: World) -> None:
    wanted, unrelated = id_of(chats, TEXTS[2]), id_of(chats, TEXTS[4])
    chats.embeddings.fails_with = Unavailable("away")
    assert failed(explain(chats, wanted, limit=1)) == "limit"
    absence = explain(chats, unrelated, ranking="vectors")
    assert failed(absence) == "vector or words"
    assert absence.failed is not None
    assert absence.failed.said.startswith("the question got no vector")
    assert absence.lever is None


def test_the_numbers_of_the_threshold() -> None:
    assert say_below(0.412, 0.7) == "0.412 (low), the threshold is 0.700 (medium)"
    assert (threshold_for(0.6127), threshold_for(-0.2)) == (0.612, 0.0)
