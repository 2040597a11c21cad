"""What every board must do."""

import threading
import time

import pytest

from querymill_shared.board import Board, Claim, Outcome, Verdict
from querymill_shared.board.calls import SETTLE_GRACE_MS
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownJob
from querymill_shared.contracts.events import (
    Cancelled,
    Done,
    Failed,
    Hits,
    Progress,
    Queued,
    StageFinished,
    StageStarted,
)
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.hits import BoardHit
from tests.fixtures.boards import claimed, let_pass, on_both_servers, with_settings

LEASE, GRACE = 0.2, 0.1
SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=60)
HIT = BoardHit("r1/page/1", 0.8, 3)


def submitted(board: Board, request: ReportSearch = SEARCH) -> str:
    return board.submit(request)[0]


def test_a_submitted_job_waits_with_all_its_steps(board: Board) -> None:
    picture = board.picture(submitted(board))
    assert picture.record.state == "queued"
    assert [(step.name, step.state) for step in picture.steps] == [
        ("original", "waiting"),
        ("hyde", "waiting"),
    ]
    assert picture.request == SEARCH
    assert picture.record.deadline == pytest.approx(picture.record.created + 60)


def test_a_job_nobody_submitted_is_unknown(board: Board) -> None:
    with pytest.raises(UnknownJob, match="0123"):
        board.picture("0123")


def test_an_empty_id_is_that_of_no_job(board: Board) -> None:
    with pytest.raises(UnknownJob, match="''"):
        board.picture("")
    assert board.events("") == []
    assert board.result("") is None


@on_both_servers
def test_an_idempotency_key_with_another_request_is_refused(board: Board) -> None:
    board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    with pytest.raises(IdempotencyConflict, match="turn-1"):
        board.submit(SEARCH.model_copy(update={"query": "profit?"}), SubmitOptions(idempotency_key="turn-1"))


def test_the_same_idempotency_key_in_another_collection_is_another_job(board: Board) -> None:
    first, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    elsewhere = SEARCH.model_copy(update={"collection": "minutes"})
    assert board.submit(elsewhere, SubmitOptions(idempotency_key="turn-1"))[0] != first


def test_a_step_is_claimed_by_one_worker_only(board: Board) -> None:
    job_id = submitted(board)
    claims: list[Claim | None] = []
    workers = [threading.Thread(target=lambda: claims.append(board.claim(job_id, "original"))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [claim.attempt for claim in claims if claim is not None] == [1]


def test_a_claim_carries_the_request_and_the_time_left(board: Board) -> None:
    claim = claimed(board, submitted(board))
    assert claim.request == SEARCH
    assert claim.expires_at is not None
    assert 50 < claim.expires_at - time.monotonic() <= 60


@on_both_servers
@with_settings(querymill_lease_s=LEASE)
def test_an_expired_lease_lets_another_attempt_in_and_fences_the_first_out(board: Board) -> None:
    job_id = submitted(board)
    first = claimed(board, job_id)
    time.sleep(LEASE + 0.05)
    second = claimed(board, job_id)
    assert second.attempt == 2
    assert not board.extend(first)
    assert board.finish(first, Outcome(hits={"revenue?": (HIT,)})) is None
    assert board.picture(job_id).hits == {}
    assert board.finish(second, Outcome(hits={"revenue?": (HIT,)})) is not None


@with_settings(querymill_lease_s=LEASE)
def test_a_heartbeat_keeps_a_step(board: Board) -> None:
    job_id = submitted(board)
    claim = claimed(board, job_id)
    for _ in range(4):
        time.sleep(LEASE / 2)
        extended = time.monotonic()
        assert board.extend(claim)
    other = board.claim(job_id, "original")
    assert other is None or time.monotonic() - extended >= LEASE, "unless the machine stood still meanwhile"


def test_a_closed_step_is_not_claimed_again(board: Board) -> None:
    job_id = submitted(board)
    board.finish(claimed(board, job_id), Outcome())
    assert board.claim(job_id, "original") is None


def test_a_step_the_job_does_not_have_is_not_claimed(board: Board) -> None:
    assert board.claim(submitted(board), "dance") is None


def test_a_job_past_its_deadline_is_not_worked_on(board: Board) -> None:
    job_id = submitted(board, SEARCH.model_copy(update={"deadline": 0.05}))
    time.sleep(0.1)
    assert board.claim(job_id, "original") is None


@on_both_servers
def test_finishing_shows_the_whole_picture(board: Board) -> None:
    job_id = submitted(board)
    outcome = Outcome(hits={"revenue?": (HIT, BoardHit("r1/page/2", 0.5, 9))}, notes={"ms": 3})
    picture = board.finish(claimed(board, job_id), outcome)
    assert picture is not None
    assert picture.record.open_steps == 1
    assert picture.hits == {"revenue?": (HIT, BoardHit("r1/page/2", 0.5, 9))}
    assert picture.steps[0].state == "done"
    assert picture.steps[0].notes == {"ms": 3}
    last = board.finish(claimed(board, job_id, "hyde"), Outcome(state="failed", reason="no reply"))
    assert last is not None
    assert last.record.open_steps == 0
    assert last.steps[1].reason == "no reply"


def test_steps_stand_in_the_order_of_the_request_however_much_is_told_of_them(board: Board) -> None:
    asked = SEARCH.model_copy(update={"multi_query": ("synonym", "subquestion", "variant")})
    job_id = submitted(board, asked)
    for step in reversed(asked.steps):
        board.finish(claimed(board, job_id, step), Outcome(state="failed", reason="so it was " * 30))
    assert [step.name for step in board.picture(job_id).steps] == list(asked.steps)
    board.settle(job_id, Verdict("failed", reason="all"))
    assert [step.name for step in board.picture(job_id).steps] == list(asked.steps)


def test_a_repeated_finish_changes_nothing(board: Board) -> None:
    job_id = submitted(board)
    claim = claimed(board, job_id)
    board.finish(claim, Outcome(hits={"revenue?": (HIT,)}))
    assert board.finish(claim, Outcome(hits={"other": (HIT,)})) is None
    assert board.picture(job_id).record.open_steps == 1
    assert set(board.picture(job_id).hits) == {"revenue?"}


@on_both_servers
def test_a_query_belongs_to_the_branch_that_took_it_first(board: Board) -> None:
    job_id = submitted(board)
    original, hyde = claimed(board, job_id), claimed(board, job_id, "hyde")
    assert board.take_queries(original, ["a", "b"], rivals=SEARCH.steps) == ["a", "b"]
    assert board.take_queries(hyde, ["b", "c"], rivals=SEARCH.steps) == ["c"]
    assert board.take_queries(hyde, ["b", "c"], rivals=SEARCH.steps) == ["c"]
    assert board.picture(job_id).queries == {"a": "original", "b": "original", "c": "hyde"}


def test_a_job_is_settled_once(board: Board) -> None:
    job_id = submitted(board)
    assert board.settle(job_id, Verdict("done", result='{"n": 1}'))
    assert not board.settle(job_id, Verdict("failed", reason="late"))
    assert board.result(job_id) == '{"n": 1}'
    assert board.picture(job_id).record.state == "done"


@on_both_servers
def test_nothing_is_written_to_a_job_that_is_over(board: Board) -> None:
    job_id = submitted(board)
    claim = claimed(board, job_id)
    board.settle(job_id, Verdict("cancelled"))
    assert not board.extend(claim)
    assert board.finish(claim, Outcome(hits={"revenue?": (HIT,)})) is None
    assert not board.append_event(job_id, Progress(stage="original", done=1, total=2))
    assert not board.postpone(claim, delay_s=0, reason="again", cause="failure")
    assert board.claim(job_id, "hyde") is None
    assert board.picture(job_id).hits == {}


def test_a_job_whose_result_lacks_a_part_is_known_by_its_record(board: Board) -> None:
    whole, lacking, failed = (submitted(board, SEARCH.model_copy(update={"query": query})) for query in "abc")
    assert board.picture(lacking).record.is_complete
    board.settle(whole, Verdict("done", result="{}"))
    board.settle(lacking, Verdict("done", result="{}", complete=False))
    board.settle(failed, Verdict("failed", reason='"complete":false', complete=False))
    assert [board.picture(job_id).record.is_complete for job_id in (whole, lacking, failed)] == [True, False, True]


@on_both_servers
def test_events_tell_the_way_of_a_job_in_order(board: Board) -> None:
    job_id = submitted(board)
    claim = claimed(board, job_id)
    board.finish(claim, Outcome(ms=2.5))
    board.append_event(job_id, Hits(after_stage="original", total=0, hits=()))
    board.settle(job_id, Verdict("done", result="{}", complete=False))
    events = board.events(job_id)
    assert [event for _, event in events] == [
        Queued(stages=("original", "hyde")),
        StageStarted(stage="original", attempt=1),
        StageFinished(stage="original", state="done", ms=2.5),
        Hits(after_stage="original", total=0, hits=()),
        Done(complete=False),
    ]
    third = events[2][0]
    assert [event for _, event in board.events(job_id, after=third)] == [event for _, event in events[3:]]


@pytest.mark.parametrize(
    ("verdict", "event"),
    [
        (Verdict("failed", reason="why"), Failed(reason="why")),
        (Verdict("dead", reason="why"), Failed(reason="why")),
        (Verdict("cancelled"), Cancelled()),
    ],
)
def test_the_last_event_says_how_the_job_ended(board: Board, verdict: Verdict, event: object) -> None:
    job_id = submitted(board)
    board.settle(job_id, verdict)
    assert board.events(job_id)[-1][1] == event


@with_settings(querymill_ring_grace_s=GRACE)
def test_a_bell_that_nobody_answers_comes_due_again_and_again(board: Board) -> None:
    pauses, both = (0, GRACE + 0.05, 0, 2 * GRACE + 0.05), {"original", "hyde"}
    for _ in range(20):
        job_id, begun = submitted(board), time.monotonic()
        seen = []
        for pause in pauses:
            time.sleep(pause)
            seen.append({due.step for due in board.due()})
        board.settle(job_id, Verdict("cancelled"))
        if time.monotonic() - begun < sum(pauses) + GRACE / 2:
            break  # otherwise the machine stood still, and a bell came due meanwhile
    assert seen == [set(), both, set(), both]


@with_settings(querymill_lease_s=LEASE)
def test_a_step_whose_worker_fell_silent_comes_due(board: Board) -> None:
    job_id = submitted(board)
    claimed(board, job_id)
    time.sleep(LEASE + 0.05)
    assert "original" in {due.step for due in board.due()}


@on_both_servers
def test_a_postponed_step_comes_due_after_its_delay_and_is_claimed_anew(board: Board) -> None:
    job_id = submitted(board)
    claim = claimed(board, job_id)
    assert board.postpone(claim, delay_s=0.05, reason="provider away", cause="outage")
    assert board.picture(job_id).steps[0].reason == "provider away"
    time.sleep(0.07)
    assert "original" in {due.step for due in board.due()}
    assert claimed(board, job_id).attempt == 2


@on_both_servers
def test_a_job_comes_due_shortly_before_its_deadline(board: Board) -> None:
    job_id = submitted(board, SEARCH.model_copy(update={"deadline": 0.5}))
    found = board.due()
    time.sleep(0.46)
    found = [*found, *board.due()]
    assert (job_id, None, True) in [(due.job_id, due.step, due.past_deadline) for due in found]
    assert not board.picture(job_id).record.is_over


def test_a_job_whose_steps_are_all_closed_comes_due_to_be_settled(board: Board) -> None:
    job_id = submitted(board)
    for step in SEARCH.steps:
        board.finish(claimed(board, job_id, step), Outcome())
    let_pass(board, SETTLE_GRACE_MS / 1_000 + 0.1)
    assert [(due.job_id, due.step) for due in board.due()] == [(job_id, None)]


@with_settings(querymill_lease_s=LEASE, querymill_ring_grace_s=GRACE)
def test_a_settled_job_is_never_due(board: Board) -> None:
    job_id = submitted(board)
    claimed(board, job_id)
    board.settle(job_id, Verdict("done", result="{}"))
    time.sleep(LEASE + GRACE)
    assert board.due() == []


@on_both_servers
@with_settings(querymill_result_ttl_s=0.3)
def test_a_finished_job_expires(board: Board) -> None:
    job_id = submitted(board)
    board.settle(job_id, Verdict("done", result="{}"))
    time.sleep(0.35)
    with pytest.raises(UnknownJob):
        board.picture(job_id)
    assert board.result(job_id) is None


@with_settings(querymill_result_ttl_s=0.3)
@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("done", result='{"documents":[]}', complete=False, stays=True),
        Verdict("failed", reason="too heavy", stays=True),
        Verdict("dead", reason="broke"),
    ],
)
def test_a_job_that_did_not_do_all_that_was_left_to_it_stays(board: Board, verdict: Verdict) -> None:
    """Otherwise a batch that is looked at the next day counts its documents as stored."""
    job_id = submitted(board)
    board.settle(job_id, verdict)
    time.sleep(0.35)
    assert board.picture(job_id).record.state == verdict.state
    assert board.result(job_id) == (verdict.result or None)


@on_both_servers
def test_a_released_job_is_gone_before_its_time(board: Board) -> None:
    job_id = submitted(board)
    board.settle(job_id, Verdict("done", result="{}"))
    assert board.recent() == [job_id]
    assert board.release(job_id)
    assert board.recent() == []
    assert board.result(job_id) is None
    with pytest.raises(UnknownJob):
        board.picture(job_id)
    assert not board.release(job_id)


def test_a_job_that_is_not_over_is_not_released(board: Board) -> None:
    job_id = submitted(board)
    assert not board.release(job_id)
    assert board.claim(job_id, "original") is not None


@with_settings(querymill_result_ttl_s=0.3)
def test_an_unfinished_job_does_not_expire(board: Board) -> None:
    job_id = submitted(board)
    time.sleep(0.4)
    assert not board.picture(job_id).record.is_over


def test_recent_jobs_are_listed_newest_first(board: Board) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(submitted(board))
        time.sleep(0.003)
    assert board.recent(limit=2) == [jobs[2], jobs[1]]


@on_both_servers
def test_collections_are_known_by_kind(board: Board) -> None:
    board.add_collections("reports", ["filings", "minutes"])
    board.add_collections("files", ["code"])
    assert board.collections("reports") == {"filings", "minutes"}


def test_the_board_remembers_when_the_ranking_was_last_told(board: Board) -> None:
    job_id = submitted(board)
    assert board.picture(job_id).record.told is None
    board.append_event(job_id, Hits(after_stage="original", total=0, hits=()))
    assert board.picture(job_id).record.told == pytest.approx(time.time(), abs=5)


def test_a_job_has_ended_if_it_is_over_or_unknown(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    assert not board.has_ended(job_id)
    board.settle(job_id, Verdict("cancelled"))
    assert board.has_ended(job_id)
    assert board.has_ended("0nobody")
