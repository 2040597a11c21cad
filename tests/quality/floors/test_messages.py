"""Floors of `messages`: a small judged set through the real flow in memory, at the defaults."""

from math import log2
from typing import Any

import pytest

from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from tests.fixtures.world import World, new_world
from tests.quality.floors.messages import ANSWERS, CHANNEL, EMPTY, QUESTIONS, TRIP

#: nDCG@10 and recall@10 must not fall below these. Measured: 0.619 and 0.933 (by vectors alone 0.378 and 0.667).
FLOOR, FLOOR_RECALL = 0.58, 0.88
#: How people ask for a message. None of these may change what is found.
FRAMES = (
    "What did anyone say about {}?", "did anyone mention {}", "who talked about {}", "messages about {}",
    "有没有人提到过 {}",
)  # fmt: skip
SESSIONS = {"trip": TRIP, "channel": CHANNEL}
#: Ten of the questions in each run, all of them at night.
ASKED = pytest.mark.parametrize(
    "part", [slice(-10, None), pytest.param(slice(None), marks=pytest.mark.nightly)], ids=["few", "all"]
)


def lines_of(talk: str) -> list[tuple[str, str]]:
    return [(speaker, text) for speaker, _, text in (line.partition(": ") for line in talk.strip().splitlines())]


def session_of(name: str) -> ChatSession:
    messages = [
        {
            "message_id": f"{name}-{place}",
            "text": text,
            "user_name": speaker,
            "created_at": f"2026-03-01T10:{place:02}:00Z",
        }
        for place, (speaker, text) in enumerate(lines_of(SESSIONS[name]))
    ]
    return ChatSession.model_validate({"session_id": name, "started_at": "2026-03-01T10:00:00Z", "messages": messages})


@pytest.fixture(scope="module")
def loaded() -> World:
    world = new_world()
    for name in SESSIONS:
        world.run(IngestSession(collection="chats", session=session_of(name)))
    return world


def found(world: World, query: str, **fields: Any) -> list[str]:
    request = MessageSearch.model_validate({"collection": "chats", "query": query, "limit": 10} | fields)
    result = world.result(world.run(request))
    assert isinstance(result, MessageResult)
    return [str(hit.message_id) for hit in result.results]


@ASKED
def test_the_questions_reach_the_floor(loaded: World, part: slice) -> None:
    gains, recalls = [], []
    for session_id, query, places in QUESTIONS[part]:
        gold = {f"{session_id}-{place}" for place in places}
        hits = found(loaded, query, session_id=session_id)
        best = sum(1 / log2(place + 2) for place in range(len(gold)))
        gains.append(sum(1 / log2(place + 2) for place, hit in enumerate(hits) if hit in gold) / best)
        recalls.append(len(gold.intersection(hits)) / len(gold))
    assert sum(gains) / len(gains) >= FLOOR, sorted(zip(gains, QUESTIONS, strict=True))[:5]
    assert sum(recalls) / len(recalls) >= FLOOR_RECALL


@pytest.mark.nightly
@pytest.mark.parametrize("frame", FRAMES)
def test_how_a_message_is_asked_for_does_not_matter(loaded: World, frame: str) -> None:
    for session_id, query, _ in QUESTIONS:
        assert found(loaded, frame.format(query), session_id=session_id) == found(loaded, query, session_id=session_id)


@pytest.mark.nightly
@pytest.mark.parametrize("query", EMPTY)
def test_a_question_that_says_nothing_finds_nothing(loaded: World, query: str) -> None:
    assert found(loaded, query) == []


@pytest.mark.nightly
@pytest.mark.parametrize(("place", "answers"), ANSWERS)
def test_direct_answers_are_first_if_they_are_asked_for(loaded: World, place: int, answers: set[int]) -> None:
    asked = {"session_id": "channel", "exclude_message_id": f"channel-{place}", "answers_first": True}
    hits = found(loaded, lines_of(CHANNEL)[place][1], **asked)
    assert set(hits[:2]) & {f"channel-{answer}" for answer in answers}
    assert f"channel-{place}" not in hits
