from dataclasses import replace

import pytest

from querymill_shared.board import Claim
from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.events import AnswerPart
from querymill_workers.services.stream import TELL_EVERY_S, AnswerStream
from tests.fakes.jobs import Clock, CommonPorts, claimed

REQUEST = AnswerQuestion.model_validate({"query": "q", "collection": "c", "hits": [{"id": 1, "text": "nine ships"}]})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ports(clock: Clock) -> CommonPorts:
    return CommonPorts(clock=clock)


@pytest.fixture
def claim(ports: CommonPorts) -> Claim:
    return claimed(REQUEST, ports)


def parts(claim: Claim, ports: CommonPorts) -> list[tuple[int, str]]:
    events = [event for _, event in ports.board.events(claim.job_id)]
    return [(event.offset, event.text) for event in events if isinstance(event, AnswerPart)]


def test_parts_that_come_close_together_are_sent_together(claim: Claim, ports: CommonPorts, clock: Clock) -> None:
    stream = AnswerStream(claim, 1, ports)
    for part in ("Nine", " ships", " sail"):
        assert stream.hear(part + ",")
        clock.now += TELL_EVERY_S / 4
    clock.now += TELL_EVERY_S
    assert stream.hear(" today,")
    assert stream.end() == "Nine, ships, sail, today,"
    assert parts(claim, ports) == [(0, "Nine,"), (5, " ships, sail, today,")]


def test_what_is_left_is_sent_at_the_end(claim: Claim, ports: CommonPorts) -> None:
    stream = AnswerStream(claim, 1, ports)
    stream.hear("Nine, ")
    stream.hear("ships [1")
    assert stream.end() == "Nine, ships [1"
    assert "".join(text for _, text in parts(claim, ports)) == "Nine, ships [1"


def test_an_answer_of_nothing_sends_nothing(claim: Claim, ports: CommonPorts) -> None:
    stream = AnswerStream(claim, 1, ports)
    stream.hear("  \n")
    assert stream.end() == ""
    assert parts(claim, ports) == []


def test_the_time_to_the_first_part_is_kept(claim: Claim, ports: CommonPorts, clock: Clock) -> None:
    stream = AnswerStream(claim, 1, ports)
    clock.now += 0.5
    stream.hear("Nine,")
    clock.now += 0.5
    stream.hear(" ships,")
    assert stream.timing == {"first_part": 500.0}


def test_an_attempt_that_lost_its_step_stops_the_model(claim: Claim, ports: CommonPorts) -> None:
    stream = AnswerStream(replace(claim, attempt=7), 1, ports)
    assert not stream.hear("Nine,")
