"""Lines about the servers of the board, of the bells and of the stores, and about the networks before them."""

import time
from contextlib import ExitStack, closing, suppress

import psycopg
from redis import Redis

from querymill_embedded import StackPart
from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.board.scripts import digest
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.doorbell import Doorbell
from querymill_shared.queues import Queue
from tests.fakes.rabbit import Rabbit, purge
from tests.faults.table.lines import CLUSTERED, SINGLE, line
from tests.faults.table.stage import Stage
from tests.fixtures.disks import filled

QUEUES = [queue.value for queue in Queue]
#: Ends all sessions of the user but those of some processes.
_END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND NOT pid = ANY(%s)
"""


@line("board killed", "kill -9 of the board's server, which is started with its file after up to 2 s", on=SINGLE)
def kill_board(stage: Stage) -> None:
    """Kill it, and start it."""
    stage.own_board.kill()
    stage.pause(0.2, 2)
    stage.own_board.start()


@line(
    "board's last second", "kill -9 of the board's server, whose file lost its last 3 to 60 kB", on=SINGLE,
    loses_board=True,
)  # fmt: skip
def lose_tail(stage: Stage) -> None:
    """Kill it, cut its file, and start it."""
    stage.own_board.kill()
    stage.own_board.lose_tail(stage.chances.randrange(3_000, 60_000))
    stage.own_board.start()


@line("board without its data", "kill -9 of the board's server, which starts empty", on=SINGLE, loses_board=True)
def lose_board(stage: Stage) -> None:
    """Kill it, take its file, and start it."""
    stage.own_board.kill()
    stage.own_board.lose_data()
    stage.own_board.start()


@line("board frozen", "SIGSTOP of the board's server for 3 to 9 s", on=SINGLE)
def freeze_board(stage: Stage) -> None:
    """Freeze it, and let it go on."""
    stage.own_board.freeze()
    try:
        stage.pause(3, 9)
    finally:
        stage.own_board.thaw()


@line(
    "board's clock", "the clock of the board's server is stepped: 5 s back, an hour back, an hour ahead, which lets the"
    " server drop the results of that hour", on=SINGLE, loses_board=True, spares={"nothing is cut before its time"},
)  # fmt: skip
def step_board(stage: Stage) -> None:
    """Step it, and put it right."""
    try:
        for seconds in (-5, -3_600, 3_600):
            stage.own_board.step(seconds)
            stage.pause(1, 3)
    finally:
        stage.own_board.step(0)


@line("board's memory full", "the board's server has reached maxmemory for 3 to 8 s", on=SINGLE)
def fill_memory(stage: Stage) -> None:
    """Leave it no memory, and give it some."""
    with Redis.from_url(stage.own_board.url) as client:
        client.config_set("maxmemory", 1)
        try:
            stage.pause(3, 8)
        finally:
            client.config_set("maxmemory", 0)


@line(
    "board's disk full", "the disk of the board's append-only file is full for 3 to 8 s, then the file is rewritten",
    on=SINGLE,
)  # fmt: skip
def fill_disk(stage: Stage) -> None:
    """Leave it no room, give it some, and do what the runbook says."""
    if stage.disk is None:
        raise RuntimeError("no small disk can be mounted here")
    with filled(stage.disk):
        stage.pause(3, 8)
    # A server that began a new file while it could not write may not read its files at its next start.
    stage.own_board.rewrite_log()


@line(
    "half-open links to the board",
    "bytes of clients and workers are taken and go nowhere; new connections work",
    on=SINGLE,
)
def swallow_board(stage: Stage) -> None:
    """Swallow what is on open connections."""
    stage.at_board.swallow()
    stage.callers.swallow()
    stage.pause(2, 4)
    stage.at_board.bury()
    stage.callers.bury()


@line(
    "board cut off", "all connections of clients and workers to the board are cut, and refused for 2 to 6 s", on=SINGLE
)
def cut_board(stage: Stage) -> None:
    """Cut them, and mend."""
    stage.at_board.cut()
    stage.callers.cut()
    stage.pause(2, 6)
    stage.at_board.mend()
    stage.callers.mend()


@line(
    "replies lost after publish", "the board accepts jobs, claims and ends of steps, and the reply is lost on the way",
    on=SINGLE,
)  # fmt: skip
def lose_replies(stage: Stage) -> None:
    """Lose the replies to some scripts, of clients and of workers."""
    stage.callers.lay(digest("submit").encode(), times=4, act=stage.callers.lose_reply)
    script = stage.chances.choice(("claim", "finish", "settle"))
    stage.at_board.lay(digest(script).encode(), times=2, act=stage.at_board.lose_reply)
    stage.pause(2, 4)


@line("bells lost", "every message of the broker is lost")
def lose_bells(stage: Stage) -> None:
    """Empty the queues."""
    if isinstance(stage.broker, Rabbit):
        purge(stage.settings.broker_url, QUEUES)
    else:
        with Redis.from_url(stage.settings.broker_url) as client:
            client.delete(*QUEUES)
    stage.pause(1, 3)


@line("bells doubled and reordered", "the bells of open jobs ring three times more, in an order of chance")
def double_bells(stage: Stage) -> None:
    """Ring for what is open."""
    with closing(ValkeyBoard.connect(stage.settings)) as board, closing(Doorbell.connect(stage.settings)) as doorbell:
        for job_id in stage.chances.sample(jobs := board.open_jobs(limit=200) * 3, len(jobs)):
            with suppress(UnknownJob, UnreadableJob):
                if (request := board.picture(job_id).request) is not None:
                    doorbell.ring(job_id, request)


@line(
    "broker killed", "kill -9 of the server of the bells, which is started after up to 3 s", on=("rabbitmq", "cluster")
)
def kill_broker(stage: Stage) -> None:
    """Kill it, and start it."""
    assert stage.broker is not None
    stage.broker.kill()
    stage.pause(0.5, 3)
    stage.broker.start()


@line("broker frozen", "SIGSTOP of the server of the bells for 3 to 9 s", on=("rabbitmq", "cluster"))
def freeze_broker(stage: Stage) -> None:
    """Freeze it, and let it go on."""
    assert stage.broker is not None
    stage.broker.freeze()
    try:
        stage.pause(3, 9)
    finally:
        stage.broker.thaw()


@line(
    "replica promoted", "kill -9 of a primary of the cluster, whose replica takes over; then it comes back as one",
    on=CLUSTERED, loses_board=True,
)  # fmt: skip
def promote(stage: Stage) -> None:
    """Kill the primary of a shard, and start it when its replica leads."""
    assert stage.cluster is not None
    victim = stage.cluster.kill_primary_of(f"{keys.prefix(stage.chances.choice(keys.SHARDS))}due")
    stage.cluster.await_whole()
    victim.start()
    stage.cluster.await_replicas()


@line("slots moved", "the slot of a shard moves to another primary of the cluster, key by key", on=CLUSTERED)
def move_slot(stage: Stage) -> None:
    """Move a shard."""
    assert stage.cluster is not None
    stage.cluster.move_slot_of(f"{keys.prefix(stage.chances.choice(keys.SHARDS))}due")


@line("store killed", "kill -9 of PostgreSQL, which its supervisor starts again")
def kill_store(stage: Stage) -> None:
    """Kill it, and wait until it answers."""
    stage.kill_part("postgres")
    _await_store(stage)


@line(
    "store's disk full",
    "the disk of PostgreSQL, its log included, is full for 3 to 8 s; it may go down, and is started again",
)
def fill_store(stage: Stage) -> None:
    """Leave it no room, and give it some."""
    if stage.store_disk is None:
        raise RuntimeError("no small disk can be mounted here")
    with filled(stage.store_disk):
        stage.pause(3, 8)
    # The supervisor gives a server up that goes down too often.
    stage.stack.up(parts={StackPart.POSTGRES})
    _await_store(stage)


def _await_store(stage: Stage) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(psycopg.OperationalError), stage.database():
            return
        time.sleep(0.1)
    raise RuntimeError("PostgreSQL did not come back")


@line("backends ended", "every session of PostgreSQL is terminated, five times within 2 s")
def end_backends(stage: Stage) -> None:
    """End them."""
    for _ in range(5):
        with stage.database() as database:
            database.execute(_END_OTHERS, [[database.info.backend_pid]])
        stage.pause(0.3, 0.5)


@line("connections exhausted", "somebody else holds all connections of PostgreSQL for 3 to 8 s")
def exhaust(stage: Stage) -> None:
    """Take what is left, end what others have, and take that too."""
    with ExitStack() as held:
        ours: list[int] = []
        for _ in range(3):
            with suppress(psycopg.OperationalError):
                while True:
                    connection = held.enter_context(stage.database())
                    ours.append(connection.info.backend_pid)
            connection.execute(_END_OTHERS, [ours])
        stage.pause(3, 8)


@line("half-open links to the store", "bytes to PostgreSQL are taken and go nowhere; new connections work")
def swallow_store(stage: Stage) -> None:
    """Swallow what is on open connections."""
    stage.at_store.swallow()
    stage.pause(2, 4)
    # Else the sessions of a hundred such links would be all that PostgreSQL has.
    stage.at_store.bury()


@line("store cut off", "all connections to PostgreSQL are cut, and refused for 2 to 6 s")
def cut_store(stage: Stage) -> None:
    """Cut them, and mend."""
    stage.at_store.cut()
    stage.pause(2, 6)
    stage.at_store.mend()
