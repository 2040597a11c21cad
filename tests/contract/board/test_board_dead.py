"""Dead jobs: listed, replayed and dropped."""

import time

import pytest

from querymill_shared.board import Board, Outcome, SetbackCounts, Verdict
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.events import Failed, Progress, Queued
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board, on_both_servers, with_settings

EMBED = EmbedTexts(collection="c", texts=(TextToEmbed(id="1", text="nine ships"),))
SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=60)


@pytest.fixture
def settings(request: pytest.FixtureRequest, valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_ring_grace_s=0.1, **getattr(request, "param", {}))


def dead(board: Board, request: JobRequest = EMBED, *, reason: str = "away for hours") -> str:
    """A job whose first step was given up after every kind of mishap."""
    job_id, _ = board.submit(request)
    for cause in ("failure", "outage", "conflict", "pause"):
        board.postpone(claimed(board, job_id, request.steps[0]), delay_s=0, reason="again", cause=cause)
    board.finish(claimed(board, job_id, request.steps[0]), Outcome("failed", reason, notes={"dead": True}))
    assert board.settle(job_id, Verdict("dead", reason=reason))
    return job_id


def test_dead_jobs_are_listed_and_no_others_the_latest_first(board: Board) -> None:
    first = dead(board)
    failed, _ = board.submit(EMBED)
    board.settle(failed, Verdict("failed", reason="bad input"))
    board.submit(SEARCH)
    time.sleep(0.01)
    second = dead(board)
    assert board.dead() == [second, first]
    assert board.dead(limit=1) == [second]


def test_why_steps_were_put_back_is_counted_apart(board: Board) -> None:
    (step,) = board.picture(dead(board)).steps
    assert step.counts == SetbackCounts(deaths=0, failures=1, outages=1, conflicts=1, pauses=1)


@with_settings(querymill_result_ttl_s=0.3)
def test_a_dead_job_stays_with_its_request(board: Board) -> None:
    job_id = dead(board)
    time.sleep(0.4)  # longer than a result stays
    assert board.picture(job_id).request == EMBED


@on_both_servers
def test_a_replayed_job_waits_as_on_its_first_day_and_is_due_at_once(board: Board) -> None:
    job_id = dead(board)
    before = board.picture(job_id)
    assert board.replay(job_id)
    after = board.picture(job_id)
    assert (after.record.state, after.record.reason, after.record.ended) == ("queued", "", None)
    assert after.record.created == before.record.created
    assert after.record.open_steps == 1
    (step,) = after.steps
    assert (step.state, step.reason, step.notes) == ("waiting", "", {})
    # A pause before the work is not repeated.
    assert step.counts == SetbackCounts(pauses=1)
    assert [(due.job_id, due.step) for due in board.due()] == [(job_id, "embed")]
    assert board.dead() == []


@with_settings(querymill_result_ttl_s=0.3)
def test_a_replayed_job_runs_to_its_end_and_stays_no_longer_than_others(board: Board) -> None:
    job_id = dead(board)
    board.replay(job_id)
    time.sleep(0.05)
    claim = claimed(board, job_id, "embed")
    assert (claim.attempt, claim.counts, claim.request) == (6, SetbackCounts(pauses=1), EMBED)
    assert 0 < claim.age_s < 30
    assert board.finish(claim, Outcome()) is not None
    settled = time.monotonic()
    assert board.settle(job_id, Verdict("done", result="{}"))
    assert board.result(job_id) == "{}" or time.monotonic() - settled >= 0.3, "unless the machine stood still"
    time.sleep(0.4)
    with pytest.raises(UnknownJob):
        board.picture(job_id)


def test_what_ran_when_the_job_died_changes_nothing_after_a_replay(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    late = claimed(board, job_id, "original")
    board.settle(job_id, Verdict("dead", reason="its workers kept dying"))
    board.replay(job_id)
    assert board.finish(late, Outcome()) is None
    assert not board.postpone(late, delay_s=0, reason="late", cause="failure")
    assert {step.state for step in board.picture(job_id).steps} == {"waiting"}


def test_what_was_done_stays_done(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.finish(claimed(board, job_id, "hyde"), Outcome(notes={"kept": True}))
    board.settle(job_id, Verdict("dead", reason="its workers kept dying"))
    board.replay(job_id)
    picture = board.picture(job_id)
    assert [(step.name, step.state) for step in picture.steps] == [("original", "waiting"), ("hyde", "done")]
    assert picture.steps[1].notes == {"kept": True}
    assert picture.record.open_steps == 1


def test_a_job_that_died_when_all_was_done_is_to_be_settled_again(board: Board) -> None:
    job_id, _ = board.submit(EMBED)
    board.finish(claimed(board, job_id, "embed"), Outcome())
    board.settle(job_id, Verdict("dead", reason="no result could be built"))
    assert board.replay(job_id)
    assert [(due.job_id, due.step) for due in board.due()] == [(job_id, None)]


def test_a_replayed_job_with_a_deadline_has_as_much_time_as_before(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.settle(job_id, Verdict("dead", reason="its workers kept dying"))
    for _ in range(2):
        time.sleep(0.2)
        replayed = time.monotonic()
        board.replay(job_id)
        (due, *_) = board.due()
        left = claimed(board, job_id, "original").expires_at
        assert left is not None
        assert replayed + 59.9 < left <= time.monotonic() + 60
        assert not due.past_deadline
        board.settle(job_id, Verdict("dead", reason="again"))


def test_readers_follow_a_replayed_job_from_its_new_beginning(board: Board) -> None:
    job_id = dead(board)
    last_id, last = board.events(job_id)[-1]
    assert isinstance(last, Failed)
    board.replay(job_id)
    assert [event for _, event in board.events(job_id)] == [Queued(stages=("embed",))]
    assert [event for _, event in board.events(job_id, after=last_id)] == [Queued(stages=("embed",))]


def test_a_dropped_job_is_gone(board: Board) -> None:
    job_id = dead(board)
    assert board.drop(job_id)
    assert board.dead() == board.recent() == []
    with pytest.raises(UnknownJob):
        board.picture(job_id)
    assert not board.drop(job_id)


def test_a_released_job_is_no_longer_listed(board: Board) -> None:
    assert board.release(dead(board))
    assert board.dead() == []


@pytest.mark.parametrize("state", ["queued", "done", "failed", "cancelled"])
def test_only_dead_jobs_are_replayed_or_dropped(board: Board, state: str) -> None:
    job_id, _ = board.submit(EMBED)
    if state != "queued":
        board.settle(job_id, Verdict(state, reason="r"))  # type: ignore[arg-type]  # one of the states above
    assert not board.replay(job_id)
    assert not board.drop(job_id)
    assert board.picture(job_id).record.state == state


def test_no_job_is_replayed_or_dropped_that_does_not_exist(board: Board) -> None:
    assert (board.replay("nowhere"), board.drop("nowhere"), board.replay("")) == (False, False, False)


def test_a_step_that_comes_further_has_all_its_attempts_again(board: Board) -> None:
    job_id, _ = board.submit(EMBED)

    def spent() -> int:
        return board.picture(job_id).steps[0].counts.spent

    def fail_after(done: int) -> int:
        claim = claimed(board, job_id, "embed")
        board.append_event(job_id, Progress(stage="embed", done=done, total=9))
        counted = spent()
        board.postpone(claim, delay_s=0, reason="again", cause="failure")
        return counted

    assert [fail_after(done) for done in (2, 4, 4, 3, 5)] == [0, 0, 1, 2, 0]
    assert spent() == 1


def test_the_list_of_dead_jobs_forgets_those_that_have_expired(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        job_id = dead(board)
        shard = "qm:{" + job_id[0] + "}:dead"
        client.zadd(shard, {"expired": time.time() * 1000 - 8 * 86_400_000})
        board.replay(job_id)
        board.settle(job_id, Verdict("dead", reason="again"))
        assert client.zrange(shard, 0, -1) == [job_id.encode()]
