"""Whatever anybody writes to the broker or the board: no worker ends, and the next job is done in time.

Here whole workers are fuzzed; ``tests/fuzz`` fuzzes each reader by itself, by coverage. ``make faults`` tries 2,000
examples at each door (the profile "thorough"), ``make test`` a hundred.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
import redis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from querymill import JobFailed, Querymill, ReportSearch
from querymill_shared.bells import message
from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.contracts.errors import QuerymillError
from querymill_shared.queues import Queue
from tests.fakes.bells import rung
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import examples

pytestmark = pytest.mark.timeout(3600)
# An example waits for a job, and shrinking would wait for thousands.
FUZZ: Final = settings(
    deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.reuse, Phase.generate)
)  # fmt: skip
QUESTION: Final = ReportSearch(query="how many ships", collection="filings", deadline=15)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
values = st.text(max_size=30) | st.integers().map(str) | st.sampled_from(("", "-1", "1e309", "nan", "null", "[]", "{}"))
queues = st.sampled_from([queue.value for queue in Queue])


@pytest.fixture
def survivor(filings: str, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """The only worker there is; alive again afterwards even if a test ends it."""
    yield worker
    if not worker.is_alive:
        worker.start()


@pytest.fixture
def board(deployment: Deployment) -> Iterator[ValkeyBoard]:
    opened = ValkeyBoard.connect(deployment.settings)
    yield opened
    opened.close()


def all_is_well(mill: Querymill, survivor: WorkerProcess) -> None:
    """Have a job done, by a worker that is alive."""
    assert mill.submit(QUESTION).result(timeout=15).complete
    assert survivor.is_alive, survivor.log[-3000:]


def spoilt(number: int, deadline: float = 15) -> ReportSearch:
    """Return another question: the job that is done in time must not join the work that is spoilt."""
    return QUESTION.model_copy(update={"query": f"which ships {number}", "deadline": deadline})


def replaced(message: dict[str, Any], path: list[str], value: object) -> dict[str, Any]:
    """Return a message with one value replaced, as deep as the path leads."""
    if not path or not isinstance(message.get(path[0]), dict):
        return message | {path[0] if path else "body": value}
    return message | {path[0]: replaced(message[path[0]], path[1:], value)}


names = st.sampled_from(sorted({*rung(), *rung()["headers"], *rung()["properties"], "routing_key", "compression"}))
bells = st.builds(replaced, st.just(rung()), st.lists(names, min_size=1, max_size=3), anything)
bodies = anything.map(lambda content: {**rung(), "body": base64.b64encode(json.dumps(content).encode()).decode()})
elements = st.binary(max_size=200) | (anything | bells | bodies).map(lambda content: json.dumps(content).encode())


@FUZZ
@given(queue=queues, element=elements)
def test_no_element_of_a_queue_stops_a_worker(
    mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis, queue: str, element: bytes
) -> None:
    board_client.lpush(queue, element)
    all_is_well(mill, survivor)


CHANNELS: Final = ("celery.pidbox", "reply.celery.pidbox", "celeryev/worker.heartbeat", "celeryev/task.sent")
commands = st.fixed_dictionaries(
    {"method": st.sampled_from(("shutdown", "pool_restart", "rate_limit", "revoke", "add_consumer")) | st.text()},
    optional={"arguments": anything, "destination": anything, "reply_to": anything, "ticket": anything},
)


@FUZZ
@given(channel=st.sampled_from(CHANNELS), message=st.binary(max_size=99) | (anything | commands).map(json.dumps))
def test_no_message_on_a_channel_stops_a_worker(
    deployment: Deployment, mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis,
    channel: str, message: bytes | str,
) -> None:  # fmt: skip
    board_client.publish(f"/{deployment.settings.redis_url.rsplit('/', 1)[1]}.{channel}", message)
    all_is_well(mill, survivor)


step_names = st.sampled_from(("original", "@deadline", "@settle", "@", "hyde", "")) | st.text(max_size=10)


@settings(FUZZ, max_examples=examples(by_day=5))
@given(
    shard=st.sampled_from(keys.SHARDS), step=step_names, other=st.binary(max_size=40),
    how=st.sampled_from(("a step of a job", "a step of no job", "bytes")), score=st.floats(allow_nan=False),
)  # fmt: skip
def test_no_member_of_a_due_list_stops_a_worker(
    mill: Querymill, survivor: WorkerProcess, board: ValkeyBoard, board_client: redis.Redis,
    shard: str, step: str, other: bytes, how: str, score: float,
) -> None:  # fmt: skip
    job_id = board.submit(spoilt(len(step)))[0] if how == "a step of a job" else f"{shard}0"
    member: Any = other if how == "bytes" else f"{job_id} {step}".encode(errors="surrogatepass")
    board_client.zadd(keys.prefix(job_id[0]) + "due", {member: score})
    all_is_well(mill, survivor)
    if how == "a step of a job":
        with suppress(JobFailed):  # whoever writes when a job is looked at may have it looked at too late
            mill.job(job_id).result(timeout=20)


def write_field(client: Any, key: str, field: str, value: str) -> None:
    client.hset(key, field, value)


def drop_field(client: Any, key: str, field: str, _: str) -> None:
    client.hdel(key, field)


def write_text(client: Any, key: str, _: str, value: str) -> None:
    client.set(key, value)


def write_list(client: Any, key: str, _: str, value: str) -> None:
    client.delete(key)
    client.rpush(key, value)


def write_stream(client: Any, key: str, field: str, value: str) -> None:
    client.delete(key)
    client.xadd(key, {field: value})


RECORD: Final = ("id", "kind", "collection", "lane", "state", "created", "deadline", "open", "order", "queues", "told")
STEP: Final = tuple(f"original.{field}" for field in ("state", "attempt", "lease", "life", "notes", "deaths", "left"))
PARTS: Final = ("job", "steps", "request", "events", "ended", "hits", "queries", "result", "rings", "callers", "shared")


@FUZZ
@given(
    write=st.sampled_from((write_field, write_field, drop_field, write_text, write_list, write_stream)),
    part=st.sampled_from(PARTS), field=st.sampled_from((*RECORD, *STEP)), value=values, rings=st.booleans(),
    number=st.integers(0, 20),
)  # fmt: skip
def test_no_record_stops_a_worker_and_none_stays_for_ever(
    mill: Querymill, survivor: WorkerProcess, board: ValkeyBoard, board_client: redis.Redis,
    write: Callable[[Any, str, str, str], None], part: str, field: str, value: str, rings: bool, number: int,
) -> None:  # fmt: skip
    job_id, _ = board.submit(spoilt(number, deadline=1.0))
    try:
        write(board_client, keys.of_job(job_id, part)[0], field, value)
    except redis.ResponseError:  # a field of a key of another type
        return
    if rings:
        board_client.lpush(Queue.SEARCH, message(Queue.SEARCH, job_id, "original"))
    all_is_well(mill, survivor)


def swept_soon(server: Any, due: str) -> list[Any]:
    """Return what will be due within an hour. A key of another type holds nothing."""
    if server.type(due) != b"zset":
        return []
    entries: list[Any] = server.zrangebyscore(due, "-inf", (time.time() + 3600) * 1000)
    return entries


@pytest.fixture(autouse=True)
def nothing_is_left(deployment: Deployment, board: ValkeyBoard) -> Iterator[None]:
    """After all examples of a door, nothing of them waits to be swept. What is due in a year may stay."""
    yield
    until = time.monotonic() + 30
    with redis.Redis.from_url(deployment.settings.redis_url) as client:
        server: Any = client
        while left := [entry for shard in keys.SHARDS for entry in swept_soon(server, keys.prefix(shard) + "due")]:
            assert time.monotonic() < until, left
            time.sleep(0.1)
    for job_id in board.recent(limit=1000):
        try:
            assert board.picture(job_id).record.is_over
        except QuerymillError:
            continue  # its record is gone or malformed
