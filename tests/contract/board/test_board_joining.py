"""Identical work in flight is done once, for callers that each have a job of their own: on every board."""

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest

from querymill_shared.board import Board, Outcome, Verdict, keys
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.events import Cancelled, Done, Failed, Hits, Queued, StageFinished, StageStarted
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.hits import BoardHit
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board, on_both_servers, with_settings

RESULT_TTL = 0.4
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)
REBUILD = RecomputeRanks(collection="chats")
INGEST = IngestReports.model_validate({
    "collection": "filings",
    "documents": [{
        "sha1": "a1", "title": "A", "company": "A", "period": "2022", "pages": [{"page": 1, "text": "nine ships"}]
    }],
})  # fmt: skip
HIT = BoardHit("r1/page/1", 0.8, 3)


def submitted(board: Board, count: int, request: JobRequest = SEARCH) -> list[str]:
    """Submit identical requests; the first starts work, the others join it."""
    jobs = [board.submit(request) for _ in range(count)]
    assert [starts_work for _, starts_work in jobs] == [True] + [False] * (count - 1)
    assert len({job_id for job_id, _ in jobs}) == count
    return [job_id for job_id, _ in jobs]


def result_of(job_id: str) -> str:
    return json.dumps({"job_id": job_id, "kind": "reports", "results": ["nine ships"]}, separators=(",", ":"))


def finish(board: Board, leader: str) -> None:
    """Do the work of a job of one step."""
    board.finish(claimed(board, leader), Outcome(hits={"revenue?": (HIT,)}))
    board.settle(leader, Verdict("done", result=result_of(leader)))


def cancel(board: Board, job_id: str) -> bool:
    return board.settle(job_id, Verdict("cancelled"))


def told(board: Board, job_id: str) -> list[object]:
    return [event for _, event in board.events(job_id)]


def state_of(board: Board, job_id: str) -> str:
    return board.picture(job_id).for_caller().record.state


@on_both_servers
def test_every_caller_gets_the_result_under_an_id_of_its_own(board: Board) -> None:
    jobs = submitted(board, 3)
    finish(board, jobs[0])
    assert [json.loads(board.result(job_id) or "")["job_id"] for job_id in jobs] == jobs
    assert {state_of(board, job_id) for job_id in jobs} == {"done"}


def test_every_caller_is_told_everything_whenever_it_came(board: Board) -> None:
    leader, early = submitted(board, 2)
    claim = claimed(board, leader)
    late, _ = board.submit(SEARCH)
    board.finish(claim, Outcome(ms=2.5))
    board.append_event(leader, Hits(after_stage="original", total=0, hits=()))
    board.settle(leader, Verdict("done", result=result_of(leader), complete=False))
    assert told(board, leader) == [
        Queued(stages=("original",)),
        StageStarted(stage="original", attempt=1),
        StageFinished(stage="original", state="done", ms=2.5),
        Hits(after_stage="original", total=0, hits=()),
        Done(complete=False),
    ]
    assert told(board, early) == told(board, late) == told(board, leader)


def test_what_the_work_lacks_every_caller_lacks(board: Board) -> None:
    jobs = submitted(board, 2)
    board.settle(jobs[0], Verdict("done", result="{}", complete=False))
    assert [board.picture(job_id).record.is_complete for job_id in jobs] == [False, False]


def test_a_follower_shows_the_work_under_its_own_id(board: Board) -> None:
    leader, follower = submitted(board, 2)
    assert state_of(board, follower) == "queued"
    board.finish(claimed(board, leader), Outcome(hits={"revenue?": (HIT,)}))
    picture = board.picture(follower)
    assert picture.record.job_id == follower
    assert picture.record.leader == leader
    assert picture.record.state == "running"
    assert [(step.name, step.state) for step in picture.steps] == [("original", "done")]
    assert picture.hits == {"revenue?": (HIT,)}
    assert picture.request == SEARCH
    assert picture.record.created >= board.picture(leader).record.created
    assert [board.picture(job_id).record.callers for job_id in (leader, follower)] == [2, 2]


def test_a_follower_has_no_step_to_claim_and_is_never_due(board: Board) -> None:
    leader, follower = submitted(board, 2)
    assert board.claim(follower, "original") is None
    assert board.claim(follower, "joined") is None
    time.sleep(0.05)
    assert follower not in {due.job_id for due in board.due()}
    assert board.claim(leader, "original") is not None


def test_jobs_that_follow_are_listed_with_the_others(board: Board) -> None:
    jobs = submitted(board, 3)
    assert set(board.recent()) == set(jobs)


def test_a_failure_is_everybodys(board: Board) -> None:
    leader, follower = submitted(board, 2)
    board.settle(leader, Verdict("failed", reason="no provider"))
    assert told(board, follower)[-1] == Failed(reason="no provider")
    record = board.picture(follower).record
    assert (record.state, record.reason) == ("failed", "no provider")
    assert board.result(follower) is None


def test_of_dead_work_the_leader_alone_is_a_dead_letter(board: Board) -> None:
    leader, follower = submitted(board, 2)
    board.settle(leader, Verdict("dead", reason="its workers died"))
    assert [state_of(board, job_id) for job_id in (leader, follower)] == ["dead", "failed"]
    assert told(board, follower)[-1] == Failed(reason="its workers died")


@on_both_servers
def test_whoever_cancels_does_not_take_the_work_from_the_others(board: Board) -> None:
    jobs = submitted(board, 4)
    for gone in jobs[:3]:
        assert cancel(board, gone)
        assert not cancel(board, gone)
        assert state_of(board, gone) == "cancelled"
        assert told(board, gone)[-1] == Cancelled()
    assert board.picture(jobs[3]).record.callers == 1
    finish(board, jobs[0])
    assert json.loads(board.result(jobs[3]) or "")["job_id"] == jobs[3]
    for gone in jobs[:3]:
        assert state_of(board, gone) == "cancelled"
        assert board.result(gone) is None
        assert [event for event in told(board, gone) if isinstance(event, Done | Cancelled)] == [Cancelled()]


def test_work_that_nobody_wants_is_cancelled(board: Board) -> None:
    jobs = submitted(board, 3)
    claim = claimed(board, jobs[0])
    for job_id in jobs:
        assert cancel(board, job_id)
    assert not board.extend(claim)
    assert board.picture(jobs[0]).record.is_over
    assert board.due() == []
    again, starts_work = board.submit(SEARCH)
    assert starts_work
    assert again not in jobs


def test_work_may_be_joined_after_its_first_caller_has_left(board: Board) -> None:
    leader, follower = submitted(board, 2)
    cancel(board, leader)
    late, starts_work = board.submit(SEARCH)
    assert not starts_work
    finish(board, leader)
    for job_id in (follower, late):
        assert state_of(board, job_id) == "done"
        assert isinstance(told(board, job_id)[-1], Done)
        assert Cancelled() not in told(board, job_id)


def test_a_released_leader_leaves_the_result_to_the_others(board: Board) -> None:
    leader, *followers = submitted(board, 3)
    finish(board, leader)
    assert board.release(leader)
    assert not board.release(leader)
    assert board.result(leader) is None
    with pytest.raises(UnknownJob):
        board.picture(leader).for_caller()
    for job_id in followers:
        assert json.loads(board.result(job_id) or "")["job_id"] == job_id
        assert board.picture(job_id).steps[0].name == "original"
        assert board.release(job_id)
        assert board.result(job_id) is None
    with pytest.raises(UnknownJob):
        board.picture(leader)


def test_a_released_follower_leaves_the_result_to_the_others(board: Board) -> None:
    leader, *followers = submitted(board, 3)
    assert not board.release(followers[0])
    finish(board, leader)
    assert board.release(followers[0])
    assert board.result(followers[0]) is None
    assert board.result(followers[1]) is not None
    assert board.result(leader) is not None


def test_a_leader_that_left_is_released_while_the_work_goes_on(board: Board) -> None:
    leader, follower = submitted(board, 2)
    cancel(board, leader)
    assert board.release(leader)
    with pytest.raises(UnknownJob):
        board.picture(leader).for_caller()
    finish(board, leader)
    assert board.result(leader) is None
    assert json.loads(board.result(follower) or "")["job_id"] == follower


@with_settings(querymill_result_ttl_s=RESULT_TTL)
def test_followers_expire_with_their_work(board: Board) -> None:
    leader, follower = submitted(board, 2)
    finish(board, leader)
    time.sleep(RESULT_TTL + 0.1)
    for job_id in (leader, follower):
        assert board.result(job_id) is None
        with pytest.raises(UnknownJob):
            board.picture(job_id)


def test_ended_work_is_not_joined(board: Board) -> None:
    (leader,) = submitted(board, 1)
    finish(board, leader)
    assert board.submit(SEARCH)[1]


@pytest.mark.parametrize(
    "change", [{"query": "profit?"}, {"collection": "minutes"}, {"lane": "bulk"}, {"deadline": 59}]
)
def test_what_differs_in_any_field_is_other_work(board: Board, change: dict[str, object]) -> None:
    board.submit(SEARCH)
    assert board.submit(ReportSearch.model_validate(SEARCH.model_dump() | change))[1]


def test_who_comes_late_is_not_cut_with_the_first(board: Board) -> None:
    hurried = SEARCH.model_copy(update={"deadline": 6})
    leader, follower = submitted(board, 2, hurried)
    time.sleep(1.75)
    late, starts_work = board.submit(hurried)
    assert starts_work
    assert board.picture(follower).record.deadline == board.picture(leader).record.deadline
    assert board.picture(late).record.deadline == pytest.approx(time.time() + 6, abs=1.4)
    assert not board.submit(hurried)[1]


def test_a_search_does_not_join_one_from_before_an_ingestion(board: Board) -> None:
    (before,) = submitted(board, 1)
    claimed(board, before)
    ingestion, _ = board.submit(INGEST)
    assert not board.submit(SEARCH)[1]
    board.settle(ingestion, Verdict("done", result=result_of(ingestion)))
    after, starts_work = board.submit(SEARCH)
    assert starts_work
    follower, starts_work = board.submit(SEARCH)
    assert not starts_work
    assert board.picture(follower).record.leader == after != before


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("written", ["another type", "nothing", "x", "9e99", "-1"])
def test_a_search_does_not_join_one_from_before_an_ingestion_though_another_program_wrote_there(
    valkey_url: str, written: str, *, is_first: bool
) -> None:
    """It wrote over the version of what the collection holds: that must not come to what it was before."""
    with empty_board(Settings(redis_url=valkey_url)) as board, open_commands(valkey_url) as client:

        def ingest() -> None:
            ingestion, _ = board.submit(INGEST)
            board.settle(ingestion, Verdict("done", result=result_of(ingestion)))

        if not is_first:
            ingest()
        (before,) = submitted(board, 1)
        claimed(board, before)
        corpus = f"{keys.prefix(before[0])}corpus"
        if is_first:
            ingest()
        if written == "another type":
            client.delete(corpus)
            client.set(corpus, "x")
        elif written == "nothing":
            client.delete(corpus)
        else:
            client.hset(corpus, INGEST.collection, written)
        if not is_first:
            ingest()
        assert board.submit(SEARCH)[1]


def test_a_search_joins_one_that_has_not_begun_and_will_read_what_was_ingested(board: Board) -> None:
    (waiting,) = submitted(board, 1)
    ingestion, _ = board.submit(INGEST)
    board.settle(ingestion, Verdict("done", result=result_of(ingestion)))
    assert not board.submit(SEARCH)[1]
    claimed(board, waiting)
    assert not board.submit(SEARCH)[1]
    second, _ = board.submit(INGEST)
    board.settle(second, Verdict("done", result=result_of(second)))
    assert board.submit(SEARCH)[1]


@pytest.mark.parametrize("cause", ["pause", "conflict"])
def test_work_that_was_only_put_back_has_not_begun(board: Board, cause: Literal["pause", "conflict"]) -> None:
    (waiting,) = submitted(board, 1)
    for _ in range(2):
        board.postpone(claimed(board, waiting), delay_s=0, reason="another is in its way", cause=cause)
    ingestion, _ = board.submit(INGEST)
    board.settle(ingestion, Verdict("done", result=result_of(ingestion)))
    assert not board.submit(SEARCH)[1]
    board.postpone(claimed(board, waiting), delay_s=0, reason="it read something, and failed", cause="failure")
    second, _ = board.submit(INGEST)
    board.settle(second, Verdict("done", result=result_of(second)))
    assert board.submit(SEARCH)[1]


def test_a_dead_leader_that_is_replayed_works_for_its_own_caller(board: Board) -> None:
    leader, follower = submitted(board, 2)
    board.settle(leader, Verdict("dead", reason="why"))
    assert board.replay(leader)
    finish(board, leader)
    assert [state_of(board, job_id) for job_id in (leader, follower)] == ["done", "failed"]
    assert [isinstance(event, Failed) for event in told(board, follower)].count(True) == 1
    assert not any(isinstance(event, Done) for event in told(board, follower))


def test_a_search_joins_others_while_another_collection_changes(board: Board) -> None:
    submitted(board, 1)
    ingestion, _ = board.submit(INGEST.model_copy(update={"collection": "minutes"}))
    board.settle(ingestion, Verdict("done", result=result_of(ingestion)))
    assert not board.submit(SEARCH)[1]


def test_rebuilds_are_joined_and_ingestions_are_not(board: Board) -> None:
    submitted(board, 2, REBUILD)
    assert board.submit(INGEST)[1]
    assert board.submit(INGEST)[1]


def test_each_caller_has_an_idempotency_key_of_its_own(board: Board) -> None:
    keys = [f"turn-{number}" for number in range(8)]
    jobs = [board.submit(SEARCH, SubmitOptions(idempotency_key=key)) for key in keys]
    assert [starts_work for _, starts_work in jobs] == [True] + [False] * 7
    assert len({job_id for job_id, _ in jobs}) == 8
    assert [board.submit(SEARCH, SubmitOptions(idempotency_key=key)) for key in keys] == [
        (job_id, False) for job_id, _ in jobs
    ]
    finish(board, jobs[0][0])
    for key, (job_id, _) in zip(keys, jobs, strict=True):
        assert board.submit(SEARCH, SubmitOptions(idempotency_key=key)) == (job_id, False)
        assert json.loads(board.result(job_id) or "")["job_id"] == job_id
        board.release(job_id)
        assert board.submit(SEARCH, SubmitOptions(idempotency_key=key))[0] != job_id


def test_the_key_of_a_released_leader_starts_the_work_again(board: Board) -> None:
    first, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    board.submit(SEARCH)
    finish(board, first)
    board.release(first)
    again, starts_work = board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    assert starts_work
    assert again != first


def test_callers_at_once_share_one_work(board: Board) -> None:
    with ThreadPoolExecutor(16) as callers:
        jobs = list(callers.map(lambda _: board.submit(SEARCH), range(64)))
    assert Counter(starts_work for _, starts_work in jobs) == {True: 1, False: 63}
    (leader,) = (job_id for job_id, starts_work in jobs if starts_work)
    settling = threading.Thread(target=finish, args=(board, leader))
    settling.start()
    with ThreadPoolExecutor(8) as callers:
        cancelled = list(callers.map(lambda job: cancel(board, job[0]), jobs[:32]))
    settling.join()
    for (job_id, _), was_cancelled in zip(jobs[:32], cancelled, strict=True):
        assert state_of(board, job_id) == ("cancelled" if was_cancelled else "done")
    assert {state_of(board, job_id) for job_id, _ in jobs[32:]} == {"done"}
