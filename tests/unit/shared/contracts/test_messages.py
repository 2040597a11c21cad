from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.jobs import decode_request, fingerprint
from querymill_shared.contracts.messages.search import PRESETS, ChatVectorsRequest, MessageSearch
from querymill_shared.contracts.sessions import ChatSession


def search(**fields: Any) -> MessageSearch:
    return MessageSearch.model_validate({"collection": "c", "query": "q"} | fields)


def test_the_defaults_are_those_of_the_rules() -> None:
    asked = search(ranking="vectors")
    assert (asked.limit, asked.similarity_threshold, asked.vector_types, asked.hybrid) == (5, 0.7, ("message",), False)
    best = search()
    assert (best.ranking, best.limit, best.similarity_threshold) == ("best", 5, None)
    assert (best.words_weight, best.vectors_weight, best.rrf_k) == (1.0, None, 10)


def test_each_door_has_a_default_of_its_own() -> None:
    asked = {"collection": "c", "query": "q"}
    door = ChatVectorsRequest.model_validate(asked).as_search()
    assert (type(door), door.ranking, door.similarity_threshold) == (MessageSearch, "vectors", 0.7)
    assert ChatVectorsRequest.model_validate(asked | {"ranking": "best"}).as_search() == search()
    assert search(hybrid=True).ranking == "vectors"


def test_a_ranking_is_read_as_it_was_written() -> None:
    for asked in (search(), search(ranking="vectors"), search(hybrid=True, similarity_threshold=None)):
        assert decode_request(asked.model_dump_json()) == asked


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"ranking": "best", "hybrid": True}, "hybrid"), ({"answers_first": True}, "exclude_message_id"),
     ({"answers_first": True, "exclude_message_id": "a", "ranking": "vectors"}, "answers_first"),
     ({"ranking": "other"}, "ranking")],
)  # fmt: skip
def test_what_does_not_belong_together_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        search(**fields)


@pytest.mark.parametrize(
    ("preset", "threshold", "limit"),
    [("exact", 0.8, 5), ("related", 0.6, 5), ("fuzzy", 0.4, 5), ("persona", 0.2, 5), ("abbreviation", 0.3, 5),
     ("script", 0.4, 5), ("faq", 0.8, 5), ("recommend", 0.6, 10), ("explore", 0.4, 20)],
)  # fmt: skip
def test_a_preset_is_the_numbers_of_the_rules(preset: str, threshold: float, limit: int) -> None:
    asked = search(preset=preset)
    assert (asked.similarity_threshold, asked.limit) == (threshold, limit)


def test_only_a_script_must_be_used_and_from_0_7_on() -> None:
    assert {name: preset.must_use for name, preset in PRESETS.items() if preset.must_use} == {"script": 0.7}


def test_what_the_request_names_wins_over_its_preset_and_survives_the_wire() -> None:
    asked = search(preset="explore", limit=3, similarity_threshold=None)
    assert (asked.limit, asked.similarity_threshold) == (3, None)
    again = decode_request(asked.model_dump_json())
    assert again == asked
    assert fingerprint(again) == fingerprint(asked)


def test_no_threshold_survives_the_wire() -> None:
    again = decode_request(search(similarity_threshold=None).model_dump_json())
    assert isinstance(again, MessageSearch)
    assert again.similarity_threshold is None


def test_an_id_of_0_is_an_id() -> None:
    asked = search(exclude_message_id=0, session_id=0)
    assert (asked.exclude_message_id, asked.session_id) == ("0", "0")


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"query": " "}, "query"), ({"limit": 0}, "limit"), ({"limit": 201}, "limit"),
     ({"similarity_threshold": 1.1}, "similarity_threshold"),
     ({"similarity_threshold": float("nan")}, "similarity_threshold"), ({"vector_type": "page"}, "vector_type"),
     ({"preset": "loose"}, "preset"), ({"words_weight": 0}, "words_weight"), ({"rrf_k": 0}, "rrf_k"),
     ({"session_id": ""}, "session_id"), ({"exclude_message_id": True}, "exclude_message_id"),
     ({"collection": "../x"}, "collection"), ({"top_n": 3}, "top_n"), ({"preset": ["faq"]}, "preset")],
)  # fmt: skip
def test_a_field_that_breaks_a_rule_is_named(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError) as error:
        search(**fields)
    assert named in {str(entry["loc"][0]) for entry in error.value.errors()}


def session(**fields: Any) -> ChatSession:
    given = {"session_id": "s", "started_at": "2026-01-01T00:00:00", "messages": [{"text": "x"}]}
    return ChatSession.model_validate(given | fields)


def test_a_time_without_a_zone_is_utc_and_others_are_turned_to_it() -> None:
    assert session().started_at == datetime(2026, 1, 1, tzinfo=UTC)
    east = datetime(2026, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))
    assert session(started_at=east).started_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_unknown_fields_of_sessions_and_messages_are_kept() -> None:
    given = session(topic="boats", messages=[{"text": "a\x00b", "mood": "calm"}])
    assert (given.model_extra, given.messages[0].model_extra) == ({"topic": "boats"}, {"mood": "calm"})
    assert given.messages[0].text == "a b"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"message_id": "a", "text": "x"}] * 2,
        [{"text": "x" * 1_000_001}],
        [{"text": "船" * 600_000}] * 9,
        [{"message_id": 1, "text": ""}, {}],
    ],
)
def test_sessions_that_cannot_be_stored_are_refused(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError, match="messages"):
        session(messages=messages)


def test_hits_carry_metadata_if_it_is_asked_for_or_filtered_by() -> None:
    assert [search(**fields).shows_metadata for fields in ({}, {"metadata": True}, {"filter": {"role": "user"}})] == [
        False, True, True,
    ]  # fmt: skip
