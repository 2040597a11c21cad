"""Trails: what a job did is seen for days after its result is gone, and holds no text of anybody."""

import json
import time

import pytest

from querymill_shared.board import Board, Outcome, ValkeyBoard, Verdict, keys
from querymill_shared.board.attempts import AttemptPart
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board, on_both_servers, with_settings

TEXT = "zebrawaltz"
SEARCH = ReportSearch(query=TEXT, collection="filings", hyde=True, deadline=60)
LABELLED = SubmitOptions(labels={"session": "42"})


def ended(board: Board, options: SubmitOptions = LABELLED) -> str:
    """Run a job of two steps, of which one is put back once."""
    job_id, _ = board.submit(SEARCH, options)
    held = claimed(board, job_id, "hyde")
    assert board.postpone(held, delay_s=0, reason=f"away {TEXT}", cause="outage", code="provider_down")
    parts = (AttemptPart("expand", 170.25, 12.5, 1), AttemptPart("embed", 10.0, 0.0, 1))
    board.finish(claimed(board, job_id, "hyde"), Outcome(parts=parts, notes={"texts": [TEXT]}))
    board.finish(claimed(board, job_id, "original"), Outcome("failed", reason=f"{TEXT} is bad", code="bug"))
    assert board.settle(job_id, Verdict("done", result=json.dumps({"query": TEXT}), complete=False, reason=TEXT))
    return job_id


def written(board: ValkeyBoard, job_id: str) -> str:
    (trail,) = keys.of_job(job_id, "trail")
    return str(board._client.get(trail) or "")


@on_both_servers
def test_it_tells_what_the_picture_told_but_no_text(board: ValkeyBoard) -> None:
    job_id = ended(board)
    then, trail = board.picture(job_id), board.trail(job_id)
    assert TEXT not in written(board, job_id)
    assert trail.record.is_trail
    for field in ("kind", "collection", "state", "created", "deadline", "ended", "is_complete", "labels", "code"):
        assert getattr(trail.record, field) == getattr(then.record, field), field
    for step, was in zip(trail.steps, then.steps, strict=True):
        assert (step.name, step.state, step.attempt, step.queued) == (was.name, was.state, was.attempt, was.queued)
        assert (step.started, step.ended, step.facts, step.counts) == (was.started, was.ended, was.facts, was.counts)
        assert [each.code for each in step.attempts] == [each.code for each in was.attempts]
        assert [each.parts for each in step.attempts] == [each.parts for each in was.attempts]
    assert trail.request is trail.asked is None
    assert len(written(board, job_id)) < 1_000


@with_settings(querymill_result_ttl_s=0.2)
def test_it_outlives_the_job(board: ValkeyBoard) -> None:
    job_id = ended(board)
    (job,) = keys.of_job(job_id, "job")
    while board._client.exists(job):
        pass
    with pytest.raises(UnknownJob):
        board.picture(job_id)
    assert [step.name for step in board.trail(job_id).steps] == ["original", "hyde"]
    assert board.recent(labels={"session": "42"}) == [job_id]
    assert board.past(until=4e9) == [job_id]
    assert board.past(until=1e9) == []


def test_those_who_share_work_leave_a_trail_each(board: Board) -> None:
    leader, _ = board.submit(SEARCH, LABELLED)
    follower, _ = board.submit(SEARCH, SubmitOptions(labels={"session": "43"}))
    leaves, _ = board.submit(SEARCH)
    assert board.settle(leaves, Verdict("cancelled", reason="superseded by job x"))
    assert board.settle(leader, Verdict("failed", reason=TEXT, code="bug"))
    told = {job_id: board.trail(job_id) for job_id in (leader, follower, leaves)}
    assert [trail.record.state for trail in told.values()] == ["failed", "failed", "cancelled"]
    assert told[follower].record.labels == {"session": "43"}
    assert [step.name for step in told[follower].steps] == ["original", "hyde"]
    assert told[leaves].record.reason == "superseded by job x"
    assert told[leader].record.reason == ""


def test_a_job_that_was_let_go_leaves_one_if_somebody_may_look_for_it(board: Board) -> None:
    labelled, plain = ended(board), ended(board, SubmitOptions())
    assert board.release(labelled)
    assert board.release(plain)
    assert board.trail(labelled).record.state == "done"
    with pytest.raises(UnknownJob):
        board.trail(plain)
    assert board.past(until=4e9) == [labelled]


def test_what_was_forgotten_is_in_no_trail(board: ValkeyBoard) -> None:
    job_id, _ = board.submit(SEARCH)
    board.finish(claimed(board, job_id, "original"), Outcome("failed", reason=f"{TEXT} is bad", code="bug"))
    assert board.erase_jobs([job_id]) == 1
    board.settle(job_id, Verdict("dead", reason=TEXT))
    assert TEXT not in written(board, job_id)
    assert board.trail(job_id).record.state == "dead"


@with_settings(querymill_trails=16)
def test_the_oldest_make_room(board: ValkeyBoard) -> None:
    jobs = [board.submit(SEARCH.model_copy(update={"query": str(number)}))[0] for number in range(80)]
    for job_id in jobs:
        board.settle(job_id, Verdict("cancelled"))
    left = board.past(until=4e9, limit=100)
    assert len(left) == len({job_id[0] for job_id in jobs})
    assert sum(bool(written(board, job_id)) for job_id in jobs) == len(left)


@on_both_servers
@with_settings(querymill_trails=16, querymill_result_ttl_s=0.3)
def test_what_leaves_no_trail_is_listed_for_as_long_as_its_result_is_there(board: ValkeyBoard) -> None:
    asked = [SubmitOptions(idempotency_key=f"turn-{number}", labels={"session": "42"}) for number in range(60)]
    for number, options in enumerate(asked):
        job_id, _ = board.submit(SEARCH.model_copy(update={"query": str(number)}), options)
        board.settle(job_id, Verdict("cancelled"))
        assert board.recent(idempotency_key=options.idempotency_key) == [job_id]
    time.sleep(0.5)
    left = set(board.past(until=4e9, limit=100))
    listed = {job for options in asked for job in board.recent(idempotency_key=options.idempotency_key)}
    assert listed == left
    assert sum(1 for _ in board._client.scan_iter("*:marked:*")) <= 2 * len(left)


@pytest.mark.parametrize("trail", ['[["marks",7],[]]', '[["marks"],[]]', "[]", "no JSON", '[["marks",["x"]],[]]'])
@with_settings(querymill_trails=16)
def test_a_trail_that_another_program_wrote_makes_room_too(board: ValkeyBoard, trail: str) -> None:
    first = ended(board)
    (name,) = keys.of_job(first, "trail")
    board._client.set(name, trail)
    while board._client.exists(name):
        job_id, _ = board.submit(SEARCH)
        board.settle(job_id, Verdict("cancelled"))


@pytest.mark.parametrize("days", [0, 0.5, 30])
def test_a_job_is_listed_for_as_long_as_something_can_be_seen_of_it(valkey_url: str, days: float) -> None:
    settings = Settings(redis_url=valkey_url, querymill_trail_days=days, querymill_result_ttl_s=60)
    with empty_board(settings) as board:
        ended(board, SubmitOptions(idempotency_key="turn-1", labels={"session": "42"}))
        lists = list(board._client.scan_iter("*:marked:*"))
        assert [round(board._client.ttl(each) / 60) for each in lists] == [max(1, round(days * 1440))] * 2


@with_settings(querymill_trail_days=0)
def test_none_is_kept_if_nobody_wants_it(board: ValkeyBoard) -> None:
    with pytest.raises(UnknownJob):
        board.trail(ended(board))
    assert board.past(until=4e9) == []


def test_what_another_program_wrote_is_named(board: ValkeyBoard) -> None:
    job_id = ended(board)
    (trail,) = keys.of_job(job_id, "trail")
    for text in ("no JSON", "[]", '[["kind","reports"],[]]', "7"):
        board._client.set(trail, text)
        with pytest.raises(UnreadableJob):
            board.trail(job_id)
    board._client.delete(trail)
    board._client.lpush(trail, "x")
    with pytest.raises(UnknownJob):
        board.trail(job_id)
