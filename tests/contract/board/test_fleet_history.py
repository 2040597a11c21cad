"""What the fleet did in each minute of a day: kept once, by the board's clock, the same for all who read it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import redis

from querymill_shared import counters, fleet_history
from querymill_shared.board import ValkeyBoard, Verdict, keys
from querymill_shared.board.clock import read_clock
from querymill_shared.board.connections import open_commands
from querymill_shared.board.counts import joined
from querymill_shared.board.scripts import digest
from querymill_shared.board.slots import slot_of
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.fleet_history import (
    COUNTED,
    HISTORY,
    MAX_RECORD_BYTES,
    MINUTES,
    TOTALS,
    keep_minute,
    read_minutes,
)
from querymill_shared.queues import Queue
from tests.fixtures.boards import claimed, let_pass, step_clock

SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=500)


@pytest.fixture(params=[True, False], ids=["texts", "bytes"])
def client(request: pytest.FixtureRequest, board: ValkeyBoard, valkey_url: str) -> Iterator[redis.Redis]:
    """A client as gateways have it, and one as workers do, of the board that the test uses."""
    with open_commands(valkey_url, decode_responses=request.param) as client:
        yield client


def begin_minute(board: ValkeyBoard) -> None:
    """Move the clock of the board on to the middle of the next minute, so that a slow test stays within it."""
    let_pass(board, 90 - read_clock(board._client) % 60)


DONE = Verdict("done", result="{}")


def ended(board: ValkeyBoard, count: int, verdict: Verdict = DONE) -> None:
    for _ in range(count):
        job_id, _ = board.submit(SEARCH.model_copy(update={"query": f"{read_clock(board._client)}?"}))
        board.settle(job_id, verdict)


def test_an_empty_board_has_no_minutes(client: redis.Redis) -> None:
    assert read_minutes(client) == []


def test_a_minute_has_the_queues_and_what_was_counted_since_the_one_before(
    board: ValkeyBoard, client: redis.Redis
) -> None:
    ended(board, 5)
    begin_minute(board)
    assert keep_minute(client)
    ended(board, 3)
    ended(board, 1, Verdict("done", result="{}", complete=False))
    ended(board, 2, Verdict("failed", reason="r"))
    client.hset(counters.KEY, mapping={
        "steps_run/search": 7, "provider_tokens/bulk": 900.4, "provider_calls/limited": 2,
        "processor_ms/reports/bulk": 12.5,
    })  # fmt: skip
    board.beat("w@host#1", {"queues": ["search"], "slots": 4})
    claimed(board, board.submit(SEARCH)[0])
    waiting, _ = board.submit(SEARCH.model_copy(update={"query": "ships?"}))
    begin_minute(board)
    board.beat("w@host#1", {"queues": ["search"], "slots": 4})
    assert keep_minute(client)
    first, second = read_minutes(client)
    assert (first.passed_s, first.counted) == (0, {})  # nobody knows when the first five ended
    assert second.passed_s == pytest.approx(60, abs=5)
    assert second.at - first.at == pytest.approx(second.passed_s, abs=0.002)  # whole milliseconds
    (search,) = [work for work in second.queues if work.queue is Queue.SEARCH]
    assert (search.waiting, search.running, search.slots) == (1, 1, 4)
    assert search.oldest_s is not None
    assert {work.queue for work in second.queues} == set(Queue)
    counts = joined(second.counted)
    assert counts.submitted == {"reports": 8}
    assert counts.ended == {("reports", "done"): 4, ("reports", "failed"): 2}
    assert counts.incomplete == {"reports": 1}
    assert counts.latency["reports"].jobs == 6
    assert counts.latency["reports"].within(0.95) <= 1
    cost = {
        name: count
        for name, count in second.counted.items()
        if name.partition("/")[0] in ("provider_tokens", "processor_ms")
    }
    assert cost == {"provider_tokens/bulk": 900, "processor_ms/reports/bulk": 12}
    assert (second.counted["steps_run/search"], second.counted["provider_calls/limited"]) == (7, 2)
    assert waiting


def test_a_minute_is_kept_once(board: ValkeyBoard, client: redis.Redis) -> None:
    begin_minute(board)
    assert [keep_minute(client) for _ in range(3)] == [True, False, False]
    ended(board, 2)
    assert not keep_minute(client)
    begin_minute(board)
    assert keep_minute(client)
    assert fleet_history.total(read_minutes(client))["ended/reports/done"] == 2


def keep_together(url: str, together: Barrier) -> bool:
    with open_commands(url, decode_responses=False) as client:
        client.ping()
        together.wait()
        return keep_minute(client)


def test_two_that_sweep_at_once_keep_each_minute_once_and_count_each_job_once(
    board: ValkeyBoard, valkey_url: str
) -> None:
    begin_minute(board)
    with open_commands(valkey_url) as client:
        keep_minute(client)
        for _ in range(5):
            ended(board, 3)
            begin_minute(board)
            with ThreadPoolExecutor(4) as sweepers:
                kept = list(sweepers.map(keep_together, [valkey_url] * 4, [Barrier(4)] * 4))
            assert sorted(kept) == [False, False, False, True]
        minutes = read_minutes(client)
    assert len(minutes) == 6
    assert [minute.counted["ended/reports/done"] for minute in minutes[1:]] == [3] * 5


def test_one_that_was_frozen_between_reading_and_keeping_keeps_nothing(
    board: ValkeyBoard, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_minute(board)
    keep_minute(client)
    ended(board, 1)
    begin_minute(board)
    execute, is_frozen = client.execute_command, [True]

    def freeze(*command: Any, **options: Any) -> Any:
        if command[:2] == ("EVALSHA", digest("keep_minute")) and is_frozen:
            is_frozen.clear()
            ended(board, 1)
            assert keep_minute(board._client)  # another was elected
            begin_minute(board)
        return execute(*command, **options)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(client, "execute_command", freeze)
    assert not keep_minute(client)
    assert keep_minute(client)
    assert [minute.counted.get("ended/reports/done", 0) for minute in read_minutes(client)] == [0, 2, 0]


@pytest.mark.parametrize("apart_min", [2, 180, 1_000])
def test_a_time_without_workers_is_one_longer_record(board: ValkeyBoard, client: redis.Redis, apart_min: int) -> None:
    begin_minute(board)
    keep_minute(client)
    ended(board, 4, Verdict("cancelled"))
    let_pass(board, apart_min * 60)
    keep_minute(client)
    minutes = read_minutes(client)
    assert len(minutes) == 2
    assert minutes[1].passed_s == pytest.approx(apart_min * 60, abs=5)
    assert minutes[1].counted["ended/reports/cancelled"] == 4
    assert len(read_minutes(client, limit=1)) == 1


@pytest.mark.parametrize("seconds", [7_200, -7_200])
def test_a_clock_of_the_server_that_is_stepped_doubles_no_minute(
    board: ValkeyBoard, client: redis.Redis, seconds: int
) -> None:
    begin_minute(board)
    keep_minute(client)
    before = read_clock(board._client)
    step_clock(board, seconds)
    keep_minute(client)
    begin_minute(board)
    assert keep_minute(client)
    times = [minute.at for minute in read_minutes(client)]
    assert times == sorted(times)
    assert len({int(at) // 60 for at in times}) == len(times)
    assert times[-1] > before


def test_records_are_kept_for_a_day_and_a_whole_day_has_a_bound(board: ValkeyBoard, client: redis.Redis) -> None:
    for _ in range(3):
        begin_minute(board)
        keep_minute(client)
    let_pass(board, (MINUTES - 1) * 60)
    keep_minute(client)
    assert client.xlen(HISTORY) == 2  # the last one of the three is a day old, less a minute
    assert [len(read_minutes(client, limit=limit)) for limit in (1, 60, MINUTES)] == [1, 1, 2]
    for key in (HISTORY, TOTALS):
        assert 0 < client.pttl(key) <= MINUTES * 60_000  # of a fleet that is gone, they go too
    let_pass(board, MINUTES * 60)
    keep_minute(client)
    assert client.xlen(HISTORY) == 1


def test_a_record_of_all_that_there_is_has_fewer_bytes_than_the_bound(board: ValkeyBoard, client: redis.Redis) -> None:
    begin_minute(board)
    keep_minute(client)
    for name in COUNTED:
        key = (
            counters.KEY if name.startswith(("steps_run/", "provider_", "processor_")) else f"{keys.prefix('3')}counts"
        )
        client.hset(key, name, 1_000_000)
    for number in range(500):  # nor do names of another program or of a newer release add to it
        client.hset(f"{keys.prefix('3')}counts", f"ended/kind{number}/done", 1)
        client.hset(counters.KEY, f"steps_run/queue{number}", 1)
    begin_minute(board)
    assert keep_minute(client)
    _, minute = read_minutes(client)
    assert set(minute.counted) == COUNTED
    latest: Any = client.xrevrange(HISTORY, count=1)
    (written,) = latest[0][1].values()
    assert MAX_RECORD_BYTES / 2 < len(written) < MAX_RECORD_BYTES


def foreign_stream(client: redis.Redis) -> None:
    client.xadd(HISTORY, {"record": "no object"})
    client.xadd(HISTORY, {"another": json.dumps({"at": 1})}, id="99999999999999-0")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda client: client.set(HISTORY, "no stream"),
        lambda client: client.set(TOTALS, "no totals"),
        lambda client: (client.delete(TOTALS), client.lpush(TOTALS, "no text")),
        lambda client: client.delete(HISTORY),
        lambda client: client.delete(TOTALS),
        foreign_stream,
    ],
    ids=["no stream", "no totals", "a list", "history deleted", "totals deleted", "records of others"],
)
def test_what_another_program_did_to_the_keys_is_mended(board: ValkeyBoard, client: redis.Redis, spoil: Any) -> None:
    client.delete(HISTORY, TOTALS)
    begin_minute(board)
    keep_minute(client)
    spoil(client)
    for _ in range(3):
        begin_minute(board)
        keep_minute(client)
        ended(board, 1)
    begin_minute(board)
    assert keep_minute(client)
    minutes = read_minutes(client)
    assert [minute.counted.get("ended/reports/done", 0) for minute in minutes[-3:]] == [1, 1, 1]


def test_counts_that_became_less_count_nothing(board: ValkeyBoard, client: redis.Redis) -> None:
    """A shard of a cluster lost its data."""
    ended(board, 20)
    begin_minute(board)
    keep_minute(client)
    for shard in keys.SHARDS:
        client.delete(f"{keys.prefix(shard)}counts")
    ended(board, 2)
    begin_minute(board)
    keep_minute(client)
    assert read_minutes(client)[-1].counted == {}
    ended(board, 3)
    begin_minute(board)
    keep_minute(client)
    assert read_minutes(client)[-1].counted["ended/reports/done"] == 3


def test_both_keys_are_in_the_slot_of_the_clock() -> None:
    assert {slot_of(("GET", key)) for key in (HISTORY, TOTALS)} == {slot_of(("GET", keys.CLOCK))}
