from dataclasses import replace

import pytest

from querymill_shared.board import Claim
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.jobs.deadline import CUT, Caller, caller_of, fail_at_deadline, naming_lateness
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.fakes.jobs import Clock, CommonPorts, claimed

REQUEST = ReportSearch(query="q", collection="filings", lane=Lane.NORMAL, deadline=30)


def claim_until(expires_at: float | None, ports: CommonPorts) -> Claim:
    return replace(claimed(REQUEST, ports), expires_at=expires_at)


def caller(expires_at: float | None, *, now: float = 100.0, margin_s: float = 0.5) -> Caller:
    ports = CommonPorts(clock=Clock(now))
    return caller_of(claim_until(expires_at, ports), REQUEST, ports, margin_s=margin_s, what="the chat model")


def test_a_model_is_called_for_the_collection_and_in_the_lane_of_the_request() -> None:
    assert caller(130.0) == Caller("filings", Lane.NORMAL, 129.5)


def test_without_a_deadline_a_call_has_no_end() -> None:
    assert caller(None).expires_at is None


@pytest.mark.parametrize("expires_at", [100.5, 100.2, 99.0])
def test_without_time_left_the_model_is_not_called_and_the_error_names_it(expires_at: float) -> None:
    with pytest.raises(Unavailable, match=r"^cut by the deadline before the chat model was asked$"):
        caller(expires_at)


def test_the_last_moment_before_the_margin_is_enough_to_call() -> None:
    assert caller(100.75).expires_at == 100.25


def test_a_larger_margin_leaves_the_model_less_time() -> None:
    assert caller(110.0, margin_s=4.0).expires_at == 106.0


@pytest.mark.parametrize(
    ("expires_at", "patience_s", "expected"),
    [(None, 2.0, "slow"), (140.0, 2.0, "slow"), (101.0, 2.0, "deadline"), (140.0, None, "deadline")],
)
def test_who_waits_no_longer_than_its_patience_is_not_said_to_have_missed_the_deadline(
    expires_at: float | None, patience_s: float | None, expected: str
) -> None:
    ports = CommonPorts(clock=Clock(100.0))
    claim = claim_until(expires_at, ports)
    asking = caller_of(claim, REQUEST, ports, margin_s=0.5, what="the embedding model", patience_s=patience_s)
    with pytest.raises(Refused) as caught, naming_lateness(asking):
        raise Refused("no response in time", code="deadline")
    assert caught.value.code == expected
    with pytest.raises(Unavailable) as other, naming_lateness(asking):
        raise Unavailable("away")
    assert other.value.code == "provider_down"


def test_the_reason_of_a_part_that_was_cut_is_the_one_that_users_see() -> None:
    assert CUT == "cut by the deadline"


def test_a_job_without_a_partial_result_fails_at_its_deadline() -> None:
    ports = CommonPorts()
    claim = claimed(REQUEST, ports)
    fail_at_deadline(ports.board.picture(claim.job_id), ports)
    record = ports.board.picture(claim.job_id).record
    assert (record.state, record.reason) == ("failed", "its deadline passed")


def test_a_job_that_has_ended_is_not_failed_by_its_deadline() -> None:
    ports = CommonPorts()
    claim = claimed(REQUEST, ports)
    picture = ports.board.picture(claim.job_id)
    fail_at_deadline(picture, ports)
    fail_at_deadline(picture, ports)
    assert [event.type for _, event in ports.board.events(claim.job_id)].count("failed") == 1
