"""The board on a Valkey cluster: what is about clusters. Each night the whole suite of the board runs on one."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from functools import partial

import pytest

from querymill import AsyncQuerymill, EmbedTexts, Querymill, Unavailable
from querymill_shared.board import Outcome, ValkeyBoard, ValkeyWatchedBoard, Verdict, keys
from querymill_shared.board.connections import open_async_commands, open_commands, run_commands
from querymill_shared.board.lives import read_lives
from querymill_shared.board.slots import slot_of
from querymill_shared.board.watching import Subscription
from querymill_shared.contracts.costs import ModelPrice
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.errors import IdempotencyConflict
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.costs import BUDGETS, read_budgets, read_sums
from querymill_shared.counters import FleetCounters
from querymill_shared.settings import Settings
from querymill_workers.inference.account import Account
from querymill_workers.inference.ledger import Ledger, Tariff
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from tests.fixtures.boards import claimed, empty_board, let_pass
from tests.fixtures.valkey_clusters import ValkeyCluster, valkey_cluster

SEARCH = ReportSearch(query="q", collection="c")
JOBS = 64


@pytest.fixture
def settings(valkeys: ValkeyCluster) -> Settings:
    return Settings(redis_url=valkeys.url)


@pytest.fixture
def board(settings: Settings) -> Iterator[ValkeyBoard]:
    with empty_board(settings) as board:
        yield board


def asked(number: int) -> ReportSearch:
    return SEARCH.model_copy(update={"query": f"q{number}"})


def test_jobs_of_all_shards_live_from_submission_to_result(board: ValkeyBoard) -> None:
    submitted = [board.submit(asked(number), SubmitOptions(idempotency_key=str(number)))[0] for number in range(JOBS)]
    assert {job_id[0] for job_id in submitted} == set(keys.SHARDS)
    for job_id in submitted:
        assert board.finish(claimed(board, job_id), Outcome()) is not None
        assert board.settle(job_id, Verdict("done", result=f'{{"job_id":"{job_id}"}}'))
    assert [board.result(job_id) for job_id in submitted] == [f'{{"job_id":"{job_id}"}}' for job_id in submitted]
    assert board.counts().ended == {("reports", "done"): JOBS}
    assert {job.job_id for job in board.jobs_of("c")} == set(submitted)
    assert sorted(board.recent(limit=JOBS)) == sorted(submitted)


def test_writes_have_versions_of_one_clock_whatever_the_clocks_of_the_servers_say(
    board: ValkeyBoard, valkeys: ValkeyCluster
) -> None:
    with open_commands(valkeys.url) as client:
        server_s, micros = client.time()
        ahead = (server_s + 3600) * 1_000_000 + micros
        client.hset(keys.CLOCK, "at", f"{ahead} {ahead}")
    write = DropDocuments(retriever="reports", collection="c", ids=("r1",))
    submitted = [board.submit(write, SubmitOptions(idempotency_key=f"k{number % 20}"))[0] for number in range(40)]
    assert submitted[:20] == submitted[20:]
    with pytest.raises(IdempotencyConflict):
        board.submit(write.model_copy(update={"ids": ("r2",)}), SubmitOptions(idempotency_key="k3"))
    accepted = [claimed(board, job_id, write.steps[0]).accepted_us or 0 for job_id in submitted[:20]]
    assert sorted(set(accepted)) == accepted
    assert accepted[0] >= ahead


def test_every_due_entry_is_returned_though_one_server_has_lost_its_scripts(
    board: ValkeyBoard, valkeys: ValkeyCluster
) -> None:
    submitted = {board.submit(asked(number))[0] for number in range(JOBS)}
    board._load("sweep")
    let_pass(board, 10)
    valkeys.primary_of(keys.CLOCK).client.script_flush()
    assert {due.job_id for due in board.due()} == submitted


def test_one_listener_hears_of_all_shards(board: ValkeyBoard, settings: Settings) -> None:
    with closing(ValkeyWatchedBoard.connect(settings)) as watching:
        listener = watching.listen("w")
        submitted = [board.submit(asked(number))[0] for number in range(JOBS)]
        watching.watch([Subscription(job_id, every_event=False) for job_id in submitted], "w")
        for job_id in submitted:
            board.settle(job_id, Verdict("cancelled"))
        heard: list[str] = []
        until = time.monotonic() + 20
        while len(heard) < JOBS and time.monotonic() < until:
            heard += [told.job_id for told in listener.hear(wait_s=1)]
    assert sorted(heard) == sorted(submitted)


def test_the_workers_and_the_clock_are_read_in_one_go(board: ValkeyBoard, valkeys: ValkeyCluster) -> None:
    board.beat("w#1", {"name": "w", "queues": ["search"], "slots": 2})
    with open_commands(valkeys.url) as client:
        (life,) = read_lives(client)
    assert life.name == "w"
    assert -1 < life.beat_age_s < 5


def test_an_account_is_in_one_slot(valkeys: ValkeyCluster) -> None:
    with open_commands(valkeys.url, decode_responses=False) as client:
        account = Account(
            client, provider="p", key="k", model="m", requests_per_minute=None, tokens_per_minute=None,
            fleet_counters=FleetCounters(None),
        )  # fmt: skip
        assert account.reserve(lane=Lane.NORMAL, tokens=1, until=None).call
        assert {slot_of(("GET", key)) for key in client.scan_iter("qm:account:{*")} == {slot_of(("GET", account.key))}


def test_what_calls_cost_and_the_budgets_of_keys_are_in_one_slot(valkeys: ValkeyCluster) -> None:
    with open_commands(valkeys.url, decode_responses=False) as client:
        client.hset(BUDGETS, "k", "1000")
        ledger = Ledger(
            client, Tariff({"m": ModelPrice(input=Decimal(1))}, "USD"), FleetCounters(None), collection_tokens_per_day=9
        )
        caller = Caller("c", Lane.NORMAL, time.monotonic() + 60, owner="k", labels={"user": "ann"})
        with ledger.billing(caller, "m", 1) as bill:
            bill.add(1)
        with pytest.raises(Refused, match="API key is used up"), ledger.billing(caller, "m", 1):
            pass
        assert [budget.spent for budget in read_budgets(client)] == [1_000]
        assert len(read_sums(client, 1)) == 4
        assert {slot_of(("GET", key)) for key in client.scan_iter("qm:{costs}:*")} == {slot_of(("GET", BUDGETS))}


@pytest.mark.parametrize("moved", ["{0}", "{workers}", "{f}", "qm:meters"])
def test_what_a_client_knew_of_a_moved_slot_is_learned_again(valkeys: ValkeyCluster, moved: str) -> None:
    key = moved if moved.startswith("qm:") else f"qm:{moved}:moved"
    with open_commands(valkeys.url) as client:
        client.hset(key, "before", "1")
        valkeys.move_slot_of(key)
        pipeline = client.pipeline(transaction=False)
        pipeline.hget(key, "before")
        pipeline.time()
        assert pipeline.execute()[0] == "1"
        assert run_commands(client, [("HGET", key, "before"), ("GET", "elsewhere")]) == ["1", None]
        valkeys.move_slot_of(key)
        assert client.hget(key, "before") == "1"

        async def later() -> object:
            async with open_async_commands(valkeys.url) as other:
                await other.ping()
                valkeys.move_slot_of(key)
                return await other.hget(key, "before")

        assert asyncio.run(later()) == "1"
        client.delete(key)


def test_a_slot_that_is_moving_is_asked_at_both_servers(valkeys: ValkeyCluster) -> None:
    old, new = "qm:{e}:old", "qm:{e}:new"
    with open_commands(valkeys.url) as client:
        client.set(old, "1")
        source, target, slot = valkeys.begin_move(old)
        assert client.get(old) == "1"
        client.set(new, "2")
        assert run_commands(client, [("GET", old), ("GET", new)]) == ["1", "2"]
        with pytest.raises(Unavailable, match="moving keys"):
            client.mget(old, new)
        valkeys.move_keys(source, target, slot)
        valkeys.end_move(source, target, slot)
        assert client.mget(old, new) == ["1", "2"]
        client.delete(old, new)


def test_no_job_is_lost_or_doubled_while_slots_move(board: ValkeyBoard, valkeys: ValkeyCluster) -> None:
    ended = threading.Event()

    def move() -> None:
        while not ended.is_set():
            for shard in "05af":
                valkeys.move_slot_of(f"qm:{{{shard}}}:due")

    def submit(number: int) -> str:
        while True:
            try:
                job_id, _ = board.submit(asked(number), SubmitOptions(idempotency_key=f"moving {number}"))
                held = claimed(board, job_id)
                board.finish(held, Outcome())
                board.settle(job_id, Verdict("done", result="{}"))
            except Unavailable:
                time.sleep(0.05)
            else:
                return job_id

    with ThreadPoolExecutor(1) as mover, ThreadPoolExecutor(4) as callers:
        moves = mover.submit(move)
        submitted = list(callers.map(submit, range(4 * JOBS)))
        ended.set()
        moves.result()
    assert len(set(submitted)) == 4 * JOBS
    assert board.counts().ended == {("reports", "done"): 4 * JOBS}


def outcome_of(ask: Callable[[], object]) -> str:
    try:
        ask()
    except Unavailable as error:
        return error.detail
    return ""


def test_a_replica_takes_over_for_a_primary_that_was_killed() -> None:
    with valkey_cluster() as cluster, closing(ValkeyBoard.connect(Settings(redis_url=cluster.url))) as board:
        submitted = [
            board.submit(asked(number), SubmitOptions(idempotency_key=str(number)))[0] for number in range(JOBS)
        ]
        cluster.kill_primary_of("qm:{5}:due")
        refused = [
            outcome_of(partial(board.submit, asked(number), SubmitOptions(idempotency_key=str(number))))
            for number in range(JOBS)
        ]
        assert any(refused)
        cluster.await_whole()
        again = [board.submit(asked(number), SubmitOptions(idempotency_key=str(number)))[0] for number in range(JOBS)]
        assert again == submitted
        assert sum(board.counts().submitted.values()) == JOBS
        assert [board.has_ended(job_id) for job_id in submitted] == [False] * JOBS


JOB = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "nine ships"}]})


def test_bells_on_a_cluster_are_refused_before_anything_is_submitted(
    board: ValkeyBoard, valkeys: ValkeyCluster
) -> None:
    async def submit() -> object:
        async with AsyncQuerymill(redis_url=valkeys.url) as mill:
            return await mill.submit(JOB)

    with Querymill(redis_url=valkeys.url) as mill, pytest.raises(Unavailable, match="CELERY_BROKER_URL"):
        mill.submit(JOB)
    with pytest.raises(Unavailable, match="CELERY_BROKER_URL"):
        asyncio.run(submit())
    assert board.recent() == []
