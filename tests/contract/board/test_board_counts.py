"""What a board counts, and what it says of a job that ends."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from querymill_shared.board import Board, Ended, Outcome, ValkeyBoard, Verdict, keys
from querymill_shared.board.connections import open_commands
from querymill_shared.board.counts import BOUNDS
from querymill_shared.board.scripts import source
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board, step_clock

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=5)
EMBED = EmbedTexts(collection="filings", texts=(TextToEmbed(id="a", text="x"),))


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_lease_s=0.1, querymill_ring_grace_s=0.1)


def submitted(board: Board, count: int) -> list[str]:
    """Submit questions that differ, so that each is worked alone."""
    return [board.submit(SEARCH.model_copy(update={"query": f"year {number}?"}))[0] for number in range(count)]


def test_an_empty_board_has_counted_nothing(board: Board) -> None:
    counts = board.counts()
    assert (counts.submitted, counts.ended, counts.latency) == ({}, {}, {})
    assert (counts.leases_lost, counts.dead_letters) == (0, 0)


def test_a_job_counts_once_when_it_is_submitted_and_once_when_it_ends(board: Board) -> None:
    first, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    board.submit(EMBED)
    for _ in range(3):
        board.settle(first, Verdict("done", result="{}"))
    counts = board.counts()
    assert counts.submitted == {"reports": 1, "embed": 1}
    assert counts.ended == {("reports", "done"): 1}
    assert counts.latency["reports"].jobs == 1


def test_callers_that_end_a_job_together_count_it_once(board: Board) -> None:
    jobs = submitted(board, 8)
    verdicts = [Verdict("done", result="{}"), Verdict("failed", reason="r"), Verdict("cancelled")]
    with ThreadPoolExecutor(6) as callers:
        wins = list(callers.map(lambda pair: board.settle(*pair), [(job, v) for job in jobs for v in verdicts]))
    assert sum(wins) == sum(board.counts().ended.values()) == 8


def test_callers_that_share_work_count_each_for_itself(board: Board) -> None:
    leader, cancelled, _ = [board.submit(SEARCH)[0] for _ in range(3)]
    board.settle(cancelled, Verdict("cancelled"))
    board.settle(leader, Verdict("dead", reason="why"))
    counts = board.counts()
    assert counts.submitted == {"reports": 3}
    assert counts.ended == {("reports", state): 1 for state in ("cancelled", "dead", "failed")}


def test_a_job_that_is_done_without_a_part_is_incomplete(board: Board) -> None:
    lacking, whole, failed, cancelled = submitted(board, 4)
    board.settle(lacking, Verdict("done", result="{}", complete=False, degraded=2))
    board.settle(whole, Verdict("done", result="{}"))
    board.settle(failed, Verdict("failed", reason="r", complete=False))
    board.settle(cancelled, Verdict("cancelled"))
    counts = board.counts()
    assert counts.incomplete == {"reports": 1}
    assert counts.ended == {
        ("reports", state): number for state, number in (("cancelled", 1), ("done", 2), ("failed", 1))
    }


def test_all_that_share_incomplete_work_are_incomplete_but_those_that_cancelled(board: Board) -> None:
    leader, cancelled, *_ = [board.submit(SEARCH)[0] for _ in range(4)]
    board.settle(cancelled, Verdict("cancelled"))
    board.settle(leader, Verdict("done", result="{}", complete=False, degraded=1))
    assert board.counts().incomplete == {"reports": 3}


def test_what_failed_by_a_mistake_of_its_caller_is_counted_as_that_for_all_that_joined(board: Board) -> None:
    looked_up, *_ = [board.submit(SEARCH)[0] for _ in range(3)]
    board.settle(looked_up, Verdict("failed", reason="id: not there", code="invalid", counts_as="not_found"))
    assert board.counts().ended == {("reports", "not_found"): 3}
    # What its caller is told is that it failed.
    assert board.picture(looked_up).record.state == "failed"


def test_ends_of_the_last_minutes_are_the_same_for_all_that_look(board: Board) -> None:
    lacking, failed, _ = submitted(board, 3)
    board.settle(lacking, Verdict("done", result="{}", complete=False))
    board.settle(failed, Verdict("failed", reason="r"))
    lately = board.counts().lately
    assert lately.ended == {("reports", "done"): 1, ("reports", "failed"): 1}
    assert lately.incomplete == {"reports": 1}


def test_the_last_minutes_are_those_of_the_boards_clock(board: ValkeyBoard) -> None:
    """It is ahead of its server's, which has stepped back."""
    for seconds in (7_200, -7_200):
        step_clock(board, seconds)
    job_id, _ = board.submit(SEARCH)
    board.settle(job_id, Verdict("failed", reason="it fails"))
    assert board.counts().lately.ended


def test_the_counts_of_a_minute_leave_the_board_after_ten(valkey_url: str, settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(valkey_url, decode_responses=False) as client:
        job_id, _ = board.submit(SEARCH)
        board.settle(job_id, Verdict("done", result="{}", complete=False))
        (minute,) = list(client.scan_iter("qm:{*}:ends:*"))
        assert 0 < client.pttl(minute) <= 600_000
        # An end of five minutes ago counts, one of seven minutes ago does not; nor what another program wrote.
        stem, _, number = minute.decode().rpartition(":")
        for ago in (5, 7):
            client.hset(f"{stem}:{int(number) - ago}", "ended/reports/failed", ago)
        client.set(f"{stem}:{int(number) - 1}", "no hash")
        assert board.counts().lately.ended == {("reports", "done"): 1, ("reports", "failed"): 5}


def test_a_latency_is_in_the_first_class_that_holds_it(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    time.sleep(0.03)
    board.settle(job_id, Verdict("failed", reason="r"))
    latency = board.counts().latency["reports"]
    assert latency.buckets[0] == (0.025, 0)
    assert latency.buckets[-1] == (float("inf"), 1)
    assert 0.03 <= latency.total_s < 5


def test_a_cancelled_job_has_no_latency(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.settle(job_id, Verdict("cancelled"))
    assert board.counts().ended == {("reports", "cancelled"): 1}
    assert board.counts().latency == {}


def test_a_step_that_another_worker_takes_over_is_a_lease_lost(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    claimed(board, job_id)
    assert board.counts().leases_lost == 0
    time.sleep(0.15)
    claimed(board, job_id)
    assert board.counts().leases_lost == 1


def test_each_step_of_a_buried_worker_is_a_lease_lost(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.beat("w#1", {"name": "w", "queues": ["search", "expand"], "slots": 2})
    for step in ("original", "hyde"):
        assert board.claim_steps(job_id, step, life="w#1", limit=1).held
    assert len(board.release_life("w#1")) == 2
    assert board.counts().leases_lost == 2


def test_whoever_ends_a_job_is_told_what_it_was_once(valkey_url: str, settings: Settings) -> None:
    told: list[Ended] = []
    with open_commands(valkey_url, decode_responses=False) as client:
        client.flushdb()
    board = ValkeyBoard.connect(settings, on_end=told.append)
    job_id, _ = board.submit(SEARCH)
    board.finish(claimed(board, job_id), Outcome())
    verdict = Verdict("done", result="{}", complete=False, degraded=1)
    assert board.settle(job_id, verdict)
    assert not board.settle(job_id, verdict)
    (ended,) = told
    assert ended == Ended(job_id, "reports", "filings", "done", ended.ms, steps=2, degraded=1)
    assert 0 <= ended.ms < 5_000
    board.close()


def test_a_job_ends_beside_counts_that_another_program_wrote(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        for number, shard in enumerate(keys.SHARDS):
            key = keys.prefix(shard) + "counts"
            if number % 2:
                client.set(key, "no hash")
            else:
                client.hset(key, mapping={"submitted/reports": "many", "a/b/c/d": 3, b"\xff": 1})
        jobs = submitted(board, 24)
        assert all(board.settle(job_id, Verdict("failed")) for job_id in jobs)
        assert board.counts().dead_letters == 0


def test_a_record_that_lacks_its_fields_ends(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        job_id, _ = board.submit(SEARCH)
        client.hdel(keys.of_job(job_id, "job")[0], "kind", "collection", "created", "order")
        assert board.settle(job_id, Verdict("failed"))
        assert board.counts().ended == {("unknown", "failed"): 1}


def test_the_script_has_the_same_bounds() -> None:
    written = re.search(r"BOUNDS = \{(.*?)\}", source("settle"))
    assert written is not None
    assert tuple(float(bound) for bound in written[1].split(",")) == BOUNDS


def test_counts_are_kept_while_many_submit(board: Board) -> None:
    submitters = [threading.Thread(target=lambda: [board.submit(SEARCH) for _ in range(20)]) for _ in range(5)]
    for submitter in submitters:
        submitter.start()
    for submitter in submitters:
        submitter.join()
    assert board.counts().submitted == {"reports": 100}


def test_a_kind_is_announced_even_if_it_has_no_collection(board: Board) -> None:
    board.add_collections("reports", ["filings"])
    assert board.unannounced(["reports", "modules"]) == ["reports", "modules"]
    board.announce("reports", [])
    board.announce("messages", ["chats"])
    assert board.unannounced(["reports", "modules", "messages"]) == ["modules"]
    assert (board.collections("reports"), board.collections("messages")) == ({"filings"}, {"chats"})
