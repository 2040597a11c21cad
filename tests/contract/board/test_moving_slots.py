"""A slot that moves key by key: a script would find some of a job's keys on neither server, so none runs meanwhile."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from threading import Timer
from typing import Any, Final

import pytest
from redis.exceptions import AskError, MovedError, ResponseError, TryAgainError

from querymill_shared.board import (
    Claim,
    Outcome,
    ValkeyBoard,
    Verdict,
    calls,
    dead,
    erasure,
    lives,
    results,
    sweeping,
    trails,
)
from querymill_shared.board.calls import NO_BACKLOG, ScriptCall
from querymill_shared.board.connections import open_commands, run_command, run_commands
from querymill_shared.board.copying import PARTS
from querymill_shared.board.keys import of_job, prefix
from querymill_shared.board.open_jobs import open_jobs
from querymill_shared.board.queue_work import queue_work
from querymill_shared.board.scripts import command_of, source
from querymill_shared.board.submitting import submit
from querymill_shared.board.summaries import summary
from querymill_shared.contracts.errors import Unavailable
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import empty_board
from tests.fixtures.valkey_clusters import Server, ValkeyCluster

SEARCH: Final = ReportSearch(query="q", collection="c", hyde=True)
LIFE: Final = "w#1"
SEEDS: Final = (0, pytest.param(1, marks=pytest.mark.nightly), pytest.param(2, marks=pytest.mark.nightly))


@pytest.fixture
def board(valkeys: ValkeyCluster) -> Iterator[ValkeyBoard]:
    with empty_board(Settings(redis_url=valkeys.url)) as board:
        yield board


def job_of(board: ValkeyBoard, shard: str, number: int = 0) -> str:
    """Submit jobs until one of them is in a shard."""
    while True:
        job_id, _ = board.submit(
            SEARCH.model_copy(update={"query": f"q{number}"}), SubmitOptions(idempotency_key=str(number))
        )
        if job_id[0] == shard:
            return job_id
        number += 1


def a_shard_in_use(board: ValkeyBoard, shard: str) -> Claim:
    """Fill a shard with jobs that wait, run, are dead and are done. Return what is held of the one that runs."""
    waits, runs, died, done = (job_of(board, shard, 1_000 * number) for number in range(4))
    board.settle(died, Verdict("dead", reason="no worker finished it"))
    board.settle(done, Verdict("done", result="{}"))
    (held,) = board.claim_steps(runs, "original", life=LIFE, limit=1).held
    board.take_queries(held, ["a text"], rivals=())
    board._run(calls.report_backlog(shard, {"search": 1.0}))
    assert board.picture(waits).record.state == "queued"
    return held


def scripts_of(held: Claim, shard: str) -> Mapping[str, ScriptCall[Any]]:
    """Return a run of each script that looks for keys by itself, on the job that is held."""
    job_id = held.job_id
    unread = calls.UnreadRequest(job_id, held.step, held.attempt, "none", LIFE)
    asked: list[ScriptCall[Any]] = [
        calls.claim(job_id, "hyde", lease_s=9, life=LIFE),
        calls.leave(unread),
        calls.extend(held, lease_s=9),
        calls.take_queries(held, ["another text"]),
        calls.finish(held, Outcome()),
        calls.add_steps(job_id, ["more"], ring_grace_s=2, queue_of=SEARCH.queue_of),
        calls.postpone(held, delay_s=0, reason="", cause="outage", code=None, parts=()),
        calls.settle(job_id, Verdict("failed", reason="none"), result_ttl_s=60, trail_ms=60_000, trails=9),
        trails.trail(job_id),
        calls.release(job_id),
        calls.picture(job_id),
        submit(SEARCH, SEARCH.model_dump_json(), shard + 31 * "0", ring_grace_s=2),
        sweeping.heads(shard),
        sweeping.sweep(shard, ring_grace_s=0, waits=NO_BACKLOG),
        queue_work(shard),
        open_jobs(shard, 20),
        lives.release_life(shard, LIFE, planned=False),
        lives.put_back_lost(shard, LIFE, (), held_for_s=0),
        dead.replay(job_id),
        dead.drop(job_id),
        erasure.erase_job(job_id),
        erasure.mark_forgotten(job_id, ["name"], is_write=False),
        results.result(job_id),
        summary(job_id),
        ScriptCall("copy_job", of_job(job_id, "job"), [job_id, *PARTS], list),
        ScriptCall("overlooked", of_job(job_id, "job", "events"), ["0-0"], list),
        ScriptCall("watch", of_job(job_id, "job", "events", "result"), ["me", "all", "0-0", 64], list),
        ScriptCall("list_job", [*of_job(job_id, "job", "steps", "due"), f"{prefix(shard)}open",
            *of_job(job_id, "dead", "recent")], [job_id, f"{prefix(shard)}held:"], list),
    ]  # fmt: skip
    return {call.script: call for call in asked}


@contextmanager
def asking(server: Server) -> Iterator[Any]:
    """Ask a server on one connection, with commands that it runs although it only gets the slot."""
    pool = server.client.connection_pool
    connection: Any = pool.get_connection()

    def ask(*command: object) -> Any:
        connection.send_command("ASKING")
        connection.read_response()
        connection.send_command(*command)
        try:
            return connection.read_response(disable_decoding=True)
        except ResponseError as error:
            return error

    try:
        yield ask
    finally:
        pool.release(connection)


def kept(servers: tuple[Server, Server], names: list[bytes]) -> dict[tuple[int, bytes], Any]:
    """Return what each of two servers has of some keys."""
    found: dict[tuple[int, bytes], Any] = {}
    for server in servers:
        with asking(server) as ask:
            dumps = {(server.port, name): ask("DUMP", name) for name in names}
        found |= {place: dump for place, dump in dumps.items() if isinstance(dump, bytes)}
    return found


def names_in(server: Server, slot: int) -> list[bytes]:
    with asking(server) as ask:
        return list(ask("CLUSTER", "GETKEYSINSLOT", slot, 1_000))


@contextmanager
def moving(valkeys: ValkeyCluster, key: str) -> Iterator[tuple[Server, Server, int]]:
    """Move the slot of a key: the keys that were not moved within the block follow at its end."""
    source_server, target, slot = valkeys.begin_move(key)
    try:
        yield source_server, target, slot
    finally:
        valkeys.move_keys(source_server, target, slot)
        valkeys.end_move(source_server, target, slot)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_script_runs_and_nothing_changes_while_a_slot_is_on_two_servers(
    board: ValkeyBoard, valkeys: ValkeyCluster, seed: int
) -> None:
    shard = Random(seed).choice("0123456789abcdef")
    held = a_shard_in_use(board, shard)
    scripts = scripts_of(held, shard)
    ran = []
    with moving(valkeys, prefix(shard) + "due") as (source_server, target, slot):
        for script in scripts:
            for server in (source_server, target):
                server.client.script_load(source(script))
        names = names_in(source_server, slot)
        for name in names:  # on a busy machine one would expire meanwhile
            source_server.ask("PERSIST", name)
        Random(seed).shuffle(names)
        assert len(names) > len(PARTS)
        for name in names:
            source_server.ask("MIGRATE", "127.0.0.1", target.port, name, 0, 5000)
            before = kept((source_server, target), names)
            for script, call in scripts.items():
                for server in (source_server, target):
                    with asking(server) as ask:
                        if not isinstance(ask(*command_of(call)), (AskError, MovedError, TryAgainError)):
                            ran.append(script)
            assert ran == []
            assert kept((source_server, target), names) == before
            assert {*names_in(source_server, slot), *names_in(target, slot)} == set(names)
    assert board.finish(held, Outcome()) is not None


@pytest.mark.parametrize("moved", ["due", "open", f"held:{LIFE}", "waiting:expand", "running:search"])
def test_a_list_that_has_moved_before_its_jobs_loses_none_of_them(
    board: ValkeyBoard, valkeys: ValkeyCluster, moved: str
) -> None:
    """On its new server such a list is alone: a script that runs there would take all its jobs for gone."""
    held = a_shard_in_use(board, "5")
    key = prefix("5") + moved
    with moving(valkeys, key) as (source_server, target, _):
        (before,) = kept((source_server, target), [key.encode()]).values()
        source_server.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        for call in scripts_of(held, "5").values():
            with asking(target) as ask:
                ask("EVAL", source(call.script), len(call.keys), *call.keys, *call.args)
    assert list(kept((source_server, target), [key.encode()]).values()) == [before]


def test_what_has_run_beside_a_slot_that_moves_is_not_run_again(valkeys: ValkeyCluster) -> None:
    names = [f"qm:{{beside {number}}}:n" for number in range(40)]
    home = valkeys.primary_of(names[0]).port
    beside, moves = [name for name in names if valkeys.primary_of(name).port == home][:2]
    pair = [moves, moves + "2"]
    with open_commands(valkeys.url) as client:
        client.set(pair[0], 1)
        client.set(pair[1], 1)
        source_server, target, slot = valkeys.begin_move(moves)
        source_server.ask("MIGRATE", "127.0.0.1", target.port, pair[0], 0, 5000)

        def end() -> None:
            valkeys.move_keys(source_server, target, slot)
            valkeys.end_move(source_server, target, slot)

        ending = Timer(0.3, end)
        ending.start()
        replies = run_commands(
            client, [("INCR", beside), ("EVAL", "return redis.call('EXISTS', unpack(KEYS))", 2, *pair)]
        )
        ending.join()
        assert replies == [1, 2]
        assert client.get(beside) == "1"


def test_a_slot_that_moves_for_too_long_is_unavailable(valkeys: ValkeyCluster) -> None:
    key = "qm:{stuck}:n"
    with open_commands(valkeys.url) as client:
        client.set(key, 1)
        client.set(key + "2", 1)
        with moving(valkeys, key) as (source_server, target, _):
            source_server.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
            with pytest.raises(Unavailable, match="try again"):
                run_command(client, ("EVAL", "return redis.call('EXISTS', unpack(KEYS))", 2, key, key + "2"))
