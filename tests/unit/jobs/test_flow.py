from collections.abc import Sequence

import pytest

from querymill_shared.board import Claim, Picture, Verdict
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.queues import Queue
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import flow
from tests.fakes.jobs import CommonPorts, claimed

REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})


@pytest.fixture
def ports() -> CommonPorts:
    return CommonPorts()


def silent_step(claim: Claim, request: EmbedTexts, ports: CommonPorts) -> None:
    assert request is REQUEST


def silent_conclude(picture: Picture, request: EmbedTexts, ports: CommonPorts) -> None:
    assert request is REQUEST


def ringing(claim: Claim, request: EmbedTexts, ports: CommonPorts) -> Sequence[Bell]:
    return [Bell(claim.job_id, "next", request.queue_of("embed"))]


def test_a_step_that_never_rings_returns_no_bells(ports: CommonPorts) -> None:
    assert flow(REQUEST, silent_step, silent_conclude).step(claimed(REQUEST, ports), ports) == []


def test_a_conclude_that_never_rings_returns_no_bells(ports: CommonPorts) -> None:
    claim = claimed(REQUEST, ports)
    picture = ports.board.picture(claim.job_id)
    assert flow(REQUEST, silent_step, silent_conclude).conclude(picture, ports) == []


def test_the_bells_of_a_step_are_returned(ports: CommonPorts) -> None:
    claim = claimed(REQUEST, ports)
    assert flow(REQUEST, ringing, silent_conclude).step(claim, ports) == [Bell(claim.job_id, "next", Queue.EMBED)]


def test_without_a_settle_of_its_own_a_job_fails_at_its_deadline(ports: CommonPorts) -> None:
    claim = claimed(REQUEST, ports)
    flow(REQUEST, silent_step, silent_conclude).settle(ports.board.picture(claim.job_id), ports)
    record = ports.board.picture(claim.job_id).record
    assert (record.state, record.reason) == ("failed", "its deadline passed")


def test_a_settle_of_its_own_gets_the_request(ports: CommonPorts) -> None:
    settled: list[EmbedTexts] = []

    def settle(picture: Picture, request: EmbedTexts, ports: CommonPorts) -> None:
        settled.append(request)
        ports.board.settle(picture.record.job_id, Verdict("done"))

    claim = claimed(REQUEST, ports)
    flow(REQUEST, silent_step, silent_conclude, settle).settle(ports.board.picture(claim.job_id), ports)
    assert settled == [REQUEST]
    assert ports.board.picture(claim.job_id).record.state == "done"
