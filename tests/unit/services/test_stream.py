from dataclasses import replace

import pytest

from querymill_shared.board import Claim, Verdict
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


def test_citations_of_passages_that_do_not_exist_never_reach_a_reader(claim: Claim, ports: CommonPorts) -> None:
    stream = AnswerStream(claim, 1, ports)
    for part in ("Nine [", "7", "] ships [1] sail.", " So"):
        stream.hear(part)
    assert stream.end() == "Nine ships [1] sail. So"
    assert (stream.check.cited, stream.check.removed) == ((1,), (7,))
    assert all("7" not in text for _, text in parts(claim, ports))


def test_the_first_part_of_a_later_attempt_replaces_what_an_earlier_one_sent(ports: CommonPorts, claim: Claim) -> None:
    AnswerStream(claim, 1, ports).hear("Nine sh,")
    ports.board.postpone(claim, delay_s=0, reason="broke off", cause="outage")
    again = ports.board.claim(claim.job_id, claim.step)
    assert again is not None
    AnswerStream(again, 1, ports)
    assert parts(claim, ports)[-1] == (0, "")


def test_a_job_that_is_over_stops_the_model(claim: Claim, ports: CommonPorts) -> None:
    stream = AnswerStream(claim, 1, ports)
    ports.board.settle(claim.job_id, Verdict("cancelled"))
    assert not stream.hear("Nine,")
    assert parts(claim, ports) == []


def test_an_attempt_that_lost_its_step_stops_the_model(claim: Claim, ports: CommonPorts) -> None:
    stream = AnswerStream(replace(claim, attempt=7), 1, ports)
    assert not stream.hear("Nine,")
