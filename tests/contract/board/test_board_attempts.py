"""What the board holds of attempts, so that a person can see where the time went."""

import json

import redis
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import Attempt, AttemptPart, Board, Claim, Outcome, Step, ValkeyBoard, Verdict
from querymill_shared.board.attempts import encode_facts, read_facts, read_past
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.boards import claimed, on_both_servers, with_settings

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True)
LIFE = "search@host#1a2b3c4d"
PARTS = (AttemptPart("expand", 2_020.0, 400.0, 1), AttemptPart("search", 60.12))


def step_of(board: Board, job_id: str, name: str = "hyde") -> Step:
    (found,) = [step for step in board.picture(job_id).steps if step.name == name]
    return found


def held(board: Board, job_id: str, name: str = "hyde") -> Claim:
    (claim,) = board.claim_steps(job_id, name, life=LIFE, limit=1).held
    return claim


def test_an_attempt_says_when_it_waited_who_ran_it_and_where_the_time_went(board: Board) -> None:
    board.beat(LIFE, {"name": "search@host"})
    job_id, _ = board.submit(SEARCH)
    claim = held(board, job_id)
    (running,) = step_of(board, job_id).attempts
    assert (running.number, running.outcome, running.worker, running.ended) == (1, "running", "search@host", None)
    board.finish(claim, Outcome(parts=PARTS))
    step = step_of(board, job_id)
    (attempt,) = step.attempts
    assert attempt.parts == PARTS
    assert attempt.outcome == "done"
    assert step.queued is not None
    assert abs(step.queued - board.picture(job_id).record.created) < 0.002
    assert attempt.queued is not None
    assert attempt.queued <= (attempt.started or 0) + 0.002 <= (attempt.ended or 0) + 0.004


@on_both_servers
def test_a_step_that_is_put_back_keeps_its_attempts(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.postpone(
        held(board, job_id), delay_s=0.5, reason="no reply", cause="outage", code="provider_down", parts=PARTS[:1]
    )
    (first,) = step_of(board, job_id).attempts
    assert (first.outcome, first.code, first.reason, first.parts) == ("outage", "provider_down", "no reply", PARTS[:1])
    board.finish(held(board, job_id), Outcome("failed", "HTTP 400", code="provider_refused"))
    step = step_of(board, job_id)
    first, second = step.attempts
    assert (second.number, second.outcome, second.code, second.reason) == (2, "refused", "provider_refused", "HTTP 400")
    assert step.code == "provider_refused"
    assert first.queued is not None
    # It waited for the worker only after it had been put back for the delay.
    assert first.ended is not None
    assert second.queued is not None
    assert round(second.queued - first.ended, 3) == 0.5


def test_a_step_that_is_put_back_for_other_work_was_withdrawn(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.postpone(held(board, job_id), delay_s=0, reason="in the way", cause="conflict", code="pending")
    board.postpone(held(board, job_id), delay_s=0, reason="waits", cause="pause")
    board.postpone(held(board, job_id), delay_s=0, reason="broke", cause="failure", code="bug")
    assert [attempt.outcome for attempt in step_of(board, job_id).attempts] == ["withdrawn", "withdrawn", "failed"]


def test_the_attempt_of_a_worker_that_died_is_lost_and_that_of_one_that_stopped_withdrawn(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    for is_planned in (False, True):
        held(board, job_id)
        board.release_life(LIFE, planned=is_planned)
    lost, withdrawn = step_of(board, job_id).attempts
    assert (lost.outcome, lost.code, lost.worker) == ("lost", "lost", "search@host")
    assert (withdrawn.outcome, withdrawn.code) == ("withdrawn", None)
    assert lost.ended is not None


@with_settings(querymill_lease_s=0.01)
def test_the_attempt_of_a_claim_whose_lease_ran_out_is_lost(valkey_url: str, board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    claimed(board, job_id, "hyde")
    while (again := board.claim(job_id, "hyde")) is None:
        pass
    first, second = step_of(board, job_id).attempts
    assert (first.outcome, first.worker, second.number) == ("lost", "", again.attempt)


def test_of_many_attempts_the_last_twenty_are_kept(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    for number in range(25):
        board.postpone(held(board, job_id), delay_s=0, reason=f"reason {number}: " + "é" * 300, cause="outage")
    board.finish(held(board, job_id), Outcome())
    step = step_of(board, job_id)
    assert [attempt.number for attempt in step.attempts] == list(range(7, 27))
    assert step.attempt == 26
    assert len(step.attempts[0].reason) == 200


def test_an_added_step_is_queued_when_it_is_added(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.finish(held(board, job_id, "original"), Outcome())
    board.add_steps(job_id, ["answer"], queue_of=SEARCH.queue_of)
    added, before = step_of(board, job_id, "answer"), step_of(board, job_id, "original")
    assert added.queued is not None
    assert before.ended is not None
    assert added.queued >= before.ended
    assert added.attempts == ()


def test_what_is_kept_of_attempts_outlives_the_end_of_the_job(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    for name in SEARCH.steps:
        board.finish(held(board, job_id, name), Outcome(parts=PARTS))
    board.settle(job_id, Verdict("done", result="{}"))
    for step in board.picture(job_id).steps:
        (attempt,) = step.attempts
        assert (attempt.worker, attempt.parts) == ("search@host", PARTS)


def test_a_replayed_job_keeps_the_attempts_that_failed(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    for name in SEARCH.steps:
        board.finish(held(board, job_id, name), Outcome("failed", "broke", code="bug", parts=PARTS))
    board.settle(job_id, Verdict("dead", reason="broke", code="bug"))
    assert board.picture(job_id).record.code == "bug"
    board.replay(job_id)
    picture = board.picture(job_id)
    assert picture.record.code == ""
    for step in picture.steps:
        (before,) = step.attempts
        assert (before.outcome, before.code, before.parts) == ("failed", "bug", PARTS)
        assert step.queued is not None
        assert step.queued >= (before.ended or 0) - 0.002


def test_a_job_that_ends_without_a_result_says_why_as_a_code(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.settle(job_id, Verdict("failed", reason="its deadline passed", code="deadline"))
    assert board.picture(job_id).record.code == "deadline"


def test_what_was_asked_stays_with_the_result_but_no_payload(board: Board) -> None:
    kept, _ = board.submit(SEARCH)
    long, _ = board.submit(EmbedTexts(collection="filings", texts=(TextToEmbed(id="1", text="x" * 9_000),)))
    report = {"sha1": "a1", "title": "A", "company": "A", "pages": [{"page": 1, "text": "Revenue grew."}]}
    ingested, _ = board.submit(IngestReports(collection="filings", documents=(report,)))  # type: ignore[arg-type]
    for job_id in (kept, long, ingested):
        assert board.picture(job_id).asked == board.picture(job_id).request is not None
        board.settle(job_id, Verdict("done", result="{}"))
    assert board.picture(kept).asked == SEARCH
    assert board.picture(kept).request is None
    assert board.picture(long).asked is None
    assert board.picture(ingested).asked is None


def test_open_jobs_are_listed_by_age(board: Board) -> None:
    jobs = [board.submit(SEARCH.model_copy(update={"query": str(number)}))[0] for number in range(4)]
    board.submit(SEARCH.model_copy(update={"query": "1"}))  # follows the second
    board.settle(jobs[0], Verdict("failed", reason="no"))
    times = {job_id: board.picture(job_id).record.created for job_id in jobs}
    listed = board.open_jobs(limit=10)
    assert sorted(listed) == sorted(jobs[1:])
    assert [times[job_id] for job_id in listed] == sorted(times[job_id] for job_id in listed)
    assert board.open_jobs(limit=1) == listed[:1]


def test_jobs_that_ended_in_another_way_leave_the_list_of_open_ones(board: ValkeyBoard, server: redis.Redis) -> None:
    jobs = [board.submit(SEARCH.model_copy(update={"query": str(number)}))[0] for number in range(3)]
    for job_id in jobs[:2]:
        server.hset(f"qm:{{{job_id[0]}}}:{job_id}:job", "state", "done")
    assert board.open_jobs() == jobs[2:]
    assert server.zscore(f"qm:{{{jobs[0][0]}}}:open", jobs[0]) is None


def test_what_another_program_wrote_of_attempts_is_left_out(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(SEARCH)
    board.postpone(held(board, job_id), delay_s=0, reason="away", cause="outage")
    key = f"qm:{{{job_id[0]}}}:{job_id}:steps"
    server.hset(key, "hyde.past", "{}\nnonsense\n[1,2]\n" + str(server.hget(key, "hyde.past")))
    board.finish(held(board, job_id), Outcome())
    server.hset(key, "hyde.facts", "[[[")
    assert [attempt.reason for attempt in step_of(board, job_id).attempts] == ["away", ""]


parts = st.builds(
    AttemptPart,
    st.text(max_size=10),
    st.floats(0, 1e7).map(lambda ms: round(ms, 2)),
    st.floats(0, 1e7).map(lambda ms: round(ms, 2)),
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.integers(0, 1000),
)


@given(st.sampled_from([None, "limit", "bug"]), st.lists(parts, max_size=5))
def test_facts_are_read_as_they_were_written(code: None, listed: list[AttemptPart]) -> None:
    assert read_facts(encode_facts(code, listed)) == (code, tuple(listed))


@given(st.text() | st.recursive(st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_value_of_another_program_breaks_the_reader(written: str) -> None:
    assert isinstance(read_facts(written)[1], tuple)
    assert all(isinstance(attempt, Attempt) for attempt in read_past(written))
