from typing import cast

import pytest

from querymill_shared.board import ValkeyBoard, Verdict, keys
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.queues import Queue
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.follow_up import MAX_FAILED, THEN_RETRY_EVERY_S, submit_once
from tests.fakes.jobs import Clock, CommonPorts

REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})
OTHER = REQUEST.model_copy(update={"collection": "other"})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ports(clock: Clock) -> CommonPorts:
    return CommonPorts(clock=clock)


def submit_and_fail(ports: CommonPorts) -> str | None:
    job_id, _ = submit_once(REQUEST, "key", ports)
    if job_id is not None:
        ports.board.settle(job_id, Verdict("failed", reason="no"))
    return job_id


def test_a_new_job_comes_with_the_bells_of_its_steps(ports: CommonPorts) -> None:
    job_id, bells = submit_once(REQUEST, "key", ports)
    assert job_id is not None
    assert bells == [Bell(job_id, "embed", Queue.EMBED)]


def test_while_a_job_is_open_under_the_key_no_second_one_is_submitted(ports: CommonPorts) -> None:
    first, _ = submit_once(REQUEST, "key", ports)
    assert submit_once(REQUEST, "key", ports) == (first, [])
    assert ports.board.recent() == [first]


def test_a_job_that_somebody_wrote_over_is_waited_for_as_any_other(ports: CommonPorts) -> None:
    first, _ = submit_once(REQUEST, "key", ports)
    assert first is not None
    client = cast("ValkeyBoard", ports.board)._client
    for key in keys.of_job(first, "hits", "queries"):
        client.set(key, "x")
    assert submit_once(REQUEST, "key", ports) == (first, [])


def test_another_key_and_another_collection_have_jobs_of_their_own(ports: CommonPorts) -> None:
    ids = {submit_once(*asked, ports)[0] for asked in [(REQUEST, "key"), (REQUEST, "other"), (OTHER, "key")]}
    assert len(ids) == 3


def test_after_a_job_has_ended_another_one_is_submitted(ports: CommonPorts) -> None:
    first = submit_and_fail(ports)
    second, bells = submit_once(REQUEST, "key", ports)
    assert second != first
    assert len(bells) == 1
    assert submit_once(REQUEST, "key", ports) == (second, [])


def test_a_job_that_has_expired_counts_as_ended(ports: CommonPorts) -> None:
    first = submit_and_fail(ports)
    assert first is not None
    assert ports.board.release(first)
    assert submit_once(REQUEST, "key", ports)[0] not in (first, None)


def test_after_many_failures_a_job_is_submitted_only_now_and_then(ports: CommonPorts, clock: Clock) -> None:
    clock.now = 100.0 * THEN_RETRY_EVERY_S
    failed = [submit_and_fail(ports) for _ in range(MAX_FAILED + 1)]
    assert len(set(failed)) == MAX_FAILED + 1
    assert None not in failed
    assert submit_once(REQUEST, "key", ports) == (None, [])
    clock.now += THEN_RETRY_EVERY_S
    job_id, bells = submit_once(REQUEST, "key", ports)
    assert job_id not in (*failed, None)
    assert len(bells) == 1


def test_a_job_under_the_key_is_enough_even_if_its_request_was_another(ports: CommonPorts) -> None:
    first, _ = submit_once(REQUEST, "key", ports)
    other = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "b", "text": "soup"}]})
    assert submit_once(other, "key", ports) == (first, [])
    assert first is not None
    ports.board.settle(first, Verdict("failed", reason="no"))
    assert submit_once(other, "key", ports)[0] not in (first, None)
