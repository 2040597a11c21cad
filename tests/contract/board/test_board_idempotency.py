"""How long an idempotency key leads to its job: for as long as the job is on the board, on every board."""

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from querymill_shared.board import Board, ValkeyBoard, Verdict, exchanges, keys
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.connections import open_commands
from querymill_shared.board.scripts import source
from querymill_shared.contracts.errors import IdempotencyConflict
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import empty_board, with_settings

RESULT_TTL = 0.3
KEY = "turn-1"
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)
INGEST = IngestReports.model_validate({
    "collection": "filings",
    "documents": [{
        "sha1": "a1", "title": "A", "company": "A", "period": "2022", "pages": [{"page": 1, "text": "nine ships"}]
    }],
})  # fmt: skip
REQUESTS: dict[str, JobRequest] = {"search": SEARCH, "ingestion": INGEST}


@pytest.fixture(params=REQUESTS)
def asked(request: pytest.FixtureRequest) -> JobRequest:
    return REQUESTS[str(request.param)]


def done(board: Board, job_id: str) -> None:
    board.settle(job_id, Verdict("done", result="{}"))


def test_the_key_of_an_ended_job_leads_to_it(board: Board, asked: JobRequest) -> None:
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    done(board, first)
    assert board.submit(asked, SubmitOptions(idempotency_key=KEY)) == (first, False)


def test_after_its_job_was_released_a_key_starts_the_work_again(board: Board, asked: JobRequest) -> None:
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    done(board, first)
    board.release(first)
    again, is_new = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    assert is_new
    assert again != first
    assert not board.picture(again).record.is_over
    assert board.submit(asked, SubmitOptions(idempotency_key=KEY)) == (again, False)


@with_settings(querymill_result_ttl_s=RESULT_TTL)
def test_after_its_job_has_expired_a_key_starts_the_work_again(board: Board, asked: JobRequest) -> None:
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    done(board, first)
    time.sleep(RESULT_TTL + 0.05)
    again, is_new = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    assert is_new
    assert again != first
    assert not board.picture(again).record.is_over


@pytest.mark.one_server  # on a cluster, keys of writes are in one slot, so a search with the same key is not noticed
def test_a_key_whose_job_is_gone_takes_another_request(board: Board, asked: JobRequest) -> None:
    other = INGEST if asked is SEARCH else SEARCH
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    done(board, first)
    with pytest.raises(IdempotencyConflict, match=KEY):
        board.submit(other, SubmitOptions(idempotency_key=KEY))
    board.release(first)
    again, is_new = board.submit(other, SubmitOptions(idempotency_key=KEY))
    assert is_new
    with pytest.raises(IdempotencyConflict, match=again):
        board.submit(asked, SubmitOptions(idempotency_key=KEY))


def test_repeats_of_a_key_at_once_are_one_job(board: Board, asked: JobRequest) -> None:
    with ThreadPoolExecutor(16) as callers:
        submitted = list(callers.map(lambda _: board.submit(asked, SubmitOptions(idempotency_key=KEY)), range(64)))
    assert len({job_id for job_id, _ in submitted}) == 1
    assert Counter(is_new for _, is_new in submitted) == {True: 1, False: 63}
    assert board.recent() == [submitted[0][0]]


@with_settings(querymill_result_ttl_s=RESULT_TTL)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_key_takes_no_memory_after_its_job(settings: Settings, request_: JobRequest) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as server:
        hurried = request_ if request_.deadline is None else request_.model_copy(update={"deadline": 0.2})
        submitted = time.monotonic()
        job_id, _ = board.submit(hurried, SubmitOptions(idempotency_key=KEY))
        assert list(server.scan_iter("*idem*")) or time.monotonic() - submitted >= 0.2, "unless the machine stood still"
        done(board, job_id)
        time.sleep(RESULT_TTL + 0.25)
        assert list(server.scan_iter("*idem*")) == []


def submit_without_saying_so(board: ValkeyBoard, settings: Settings) -> str:
    """Submit a search as a process does that dies after its job was accepted, and before it says so of the key."""
    exchange = exchanges.submit(SEARCH, settings, SubmitOptions(idempotency_key=KEY))
    asked = next(exchange)
    while asked[0].script != "keep":
        asked = exchange.send(board._run_all(asked))
    return str(asked[0].args[0])


def test_the_key_of_an_ended_job_leads_to_it_though_its_submitter_died(board: ValkeyBoard, settings: Settings) -> None:
    first = submit_without_saying_so(board, settings)
    done(board, first)
    assert board.submit(SEARCH, SubmitOptions(idempotency_key=KEY)) == (first, False)


def test_a_key_that_led_to_a_job_goes_on_to_though_its_submitter_died(
    board: ValkeyBoard, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "RESERVATION_MS", 300)
    first = submit_without_saying_so(board, settings)
    assert board.submit(SEARCH, SubmitOptions(idempotency_key=KEY)) == (first, False)
    time.sleep(0.4)  # until the reservation is over
    assert board.submit(SEARCH, SubmitOptions(idempotency_key=KEY)) == (first, False)


def test_a_request_that_comes_between_another_and_its_key_is_refused(board: ValkeyBoard, settings: Settings) -> None:
    """The write would have the key of a search that was accepted, and its caller the id of the write."""
    exchange = exchanges.submit(SEARCH, settings, SubmitOptions(idempotency_key=KEY))
    asked = next(exchange)
    while asked[0].script != "submit":
        asked = exchange.send(board._run_all(asked))
    with pytest.raises(IdempotencyConflict):
        board.submit(INGEST, SubmitOptions(idempotency_key=KEY))


def test_a_submitter_whose_key_another_request_has_by_now_is_refused(
    board: ValkeyBoard, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "RESERVATION_MS", 200)
    exchange = exchanges.submit(SEARCH, settings, SubmitOptions(idempotency_key=KEY))
    asked = next(exchange)
    while asked[0].script != "submit":
        asked = exchange.send(board._run_all(asked))
    time.sleep(0.3)  # until the reservation is over
    assert board.submit(SEARCH.model_copy(update={"query": "ships?"}), SubmitOptions(idempotency_key=KEY))[1]

    def go_on(asked: Sequence[ScriptCall[Any]]) -> None:
        while True:
            asked = exchange.send(board._run_all(asked))

    with pytest.raises(IdempotencyConflict):
        go_on(asked)


def test_the_key_of_a_dead_job_is_kept_as_long_as_the_job(
    board: ValkeyBoard, asked: JobRequest, server: redis.Redis
) -> None:
    job_id, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    board.settle(job_id, Verdict("dead", reason="it kills its workers"))
    (key,) = server.scan_iter("*:idem:*")
    assert server.pttl(key) > server.pttl(keys.of_job(job_id, "job")[0]) - 1_000


#: What another program may write where a key says which job it belongs to.
NO_JOB = ("", "x", "7 7 7", "no such job !", "9671b762 ! !", "9671b762 1234 ")


@pytest.mark.parametrize("value", [None, *NO_JOB])
def test_a_key_that_another_program_wrote_over_leads_to_new_work(
    board: ValkeyBoard, asked: JobRequest, value: str | None
) -> None:
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    for key in list(board._client.scan_iter("*:idem:*")):
        write_over(board, key, value)
    board.settle(first, Verdict("cancelled"))
    again, is_new = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    assert is_new
    assert board.submit(asked, SubmitOptions(idempotency_key=KEY)) == (again, False)


@pytest.mark.parametrize("expires_ms", [None, 3_600_000])
@pytest.mark.parametrize("shard", keys.SHARDS[::5])
def test_a_reservation_that_outlives_its_submitter_keeps_nobody_out(
    board: ValkeyBoard, asked: JobRequest, server: redis.Redis, expires_ms: int | None, shard: str
) -> None:
    """Another program wrote it, or the server's clock stepped back by an hour."""
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    (key,) = server.scan_iter("*:idem:*")
    server.delete(*keys.of_job(first, "job"))
    server.set(key, f"{shard}671b762 1234 !", px=expires_ms)
    assert board.submit(asked, SubmitOptions(idempotency_key=KEY))[1]


def test_the_scripts_know_how_long_a_reservation_may_last() -> None:
    assert f"RESERVATION = {exchanges.RESERVATION_MS}\n" in source("reserve")


def test_a_key_whose_job_another_program_wrote_over_leads_to_new_work(board: ValkeyBoard, asked: JobRequest) -> None:
    first, _ = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    (job,) = keys.of_job(first, "job")
    write_over(board, job, "x")
    again, is_new = board.submit(asked, SubmitOptions(idempotency_key=KEY))
    assert is_new
    assert again != first
    assert board.submit(asked, SubmitOptions(idempotency_key=KEY)) == (again, False)


def write_over(board: ValkeyBoard, key: str, value: str | None) -> None:
    """Put a text in the place of a key, or a list."""
    board._client.delete(key)
    board._client.rpush(key, "x") if value is None else board._client.set(key, value)
