"""Bells delivered by a real RabbitMQ: for free threads only, never held for a step, and nothing that is no bell."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import kombu
import pytest
import structlog.testing

from querymill_shared import bells
from querymill_shared.broker import DELIVERY_LIMIT, QUEUE_ARGUMENTS
from querymill_shared.doorbell import connection_to
from querymill_shared.queues import Queue
from querymill_workers.delivery_listener import HOLD_S, DeliveryListener
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.jobs.bell import Bell
from tests.fakes.bells import NO_BELLS
from tests.fakes.rabbit import Rabbit, channel_to_empty
from tests.fixtures.tallies import until

PATIENCE_S = 20
HOST = "1"


class Heard:
    """Keeps the bells that were answered, and holds their threads until it is told not to."""

    def __init__(self) -> None:
        self.bells: list[Bell] = []
        self.may_end = threading.Event()
        self.lasts_s = float(PATIENCE_S)

    def __call__(self, bell: Bell) -> None:
        self.bells.append(bell)
        self.may_end.wait(self.lasts_s)

    def wait_for(self, count: int) -> list[str]:
        until(lambda: len(self.bells) >= count, within_s=PATIENCE_S)
        return [bell.step for bell in self.bells]


class Listening:
    """Starts listeners, each with threads of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._started: list[tuple[DeliveryListener, Heard]] = []

    def __call__(self, *, threads: int, queues: tuple[str, ...] = ("search", "expand")) -> Heard:
        step_pool, heard = StepPool(), Heard()
        step_pool.widen(threads)
        listener = DeliveryListener(lambda: connection_to(self._url), lambda: queues, step_pool, heard)
        self._started.append((listener, heard))
        listener.start()
        return heard

    def stop(self) -> None:
        for listener, heard in self._started:
            heard.may_end.set()
            listener.stop()
        for thread in threading.enumerate():
            if thread.name == "listener":
                thread.join(PATIENCE_S)


@pytest.fixture
def channel(shared_rabbit: Rabbit) -> Iterator[Any]:
    with channel_to_empty(shared_rabbit, HOST) as channel:
        yield channel


@pytest.fixture
def listening(shared_rabbit: Rabbit, channel: object) -> Iterator[Listening]:
    listening = Listening(shared_rabbit.url(HOST))
    yield listening
    listening.stop()


def queues_of(server: Rabbit, *columns: str) -> dict[str, list[str]]:
    names, *rows = server.ask("list_queues", "-p", HOST, "name", *columns)
    assert names[0] == "name"
    return {row[0]: row[1:] for row in rows}


def ring(channel: Any, *steps: str, queue: Queue = Queue.SEARCH) -> None:
    for step in steps:
        headers, body = bells.parts(queue, "0a", step)
        publish(channel, body, headers, queue=queue.value)


def publish(
    channel: Any, body: str | bytes, headers: Mapping[str, Any], *, queue: str = "search",
    kind: str = "application/json",
) -> None:  # fmt: skip
    message = channel.prepare_message(body, 0, kind, "utf-8", dict(headers), {"delivery_mode": 2})
    channel.basic_publish(message, exchange="", routing_key=queue)


def declared(server: Rabbit, *names: str) -> None:
    until(lambda: set(queues_of(server)) >= set(names), within_s=PATIENCE_S)


@pytest.mark.nightly
def test_a_worker_declares_quorum_queues_with_a_delivery_limit(shared_rabbit: Rabbit, listening: Listening) -> None:
    listening(threads=1)
    declared(shared_rabbit, "search", "expand")
    until(lambda: len(queues_of(shared_rabbit, "type", "durable", "arguments")) == 2)
    for kind, durable, arguments in queues_of(shared_rabbit, "type", "durable", "arguments").values():
        assert (kind, durable) == ("quorum", "true")
        assert f'{{"x-delivery-limit",{DELIVERY_LIMIT}}}' in arguments


@pytest.mark.nightly
def test_bells_wait_in_the_queue_for_threads_and_none_is_held(
    shared_rabbit: Rabbit, channel: Any, listening: Listening
) -> None:
    heard = listening(threads=3)
    declared(shared_rabbit, "search", "expand")
    ring(channel, *(f"step-{number}" for number in range(10)))
    ring(channel, "further", queue=Queue.EXPAND)
    heard.wait_for(3)
    # No thread is free for longer than RabbitMQ lets anybody hold a message.
    time.sleep(4)
    assert len(heard.bells) == 3

    def waiting() -> list[list[str]]:
        return list(queues_of(shared_rabbit, "messages_ready", "messages_unacknowledged").values())

    until(lambda: sum(int(ready) for ready, _ in waiting()) == 8)  # quorum queues are counted every few seconds
    assert {held for _, held in waiting()} == {"0"}
    heard.may_end.set()
    assert sorted(heard.wait_for(11)) == sorted([*(f"step-{number}" for number in range(10)), "further"])


@pytest.mark.nightly
def test_what_one_worker_has_no_thread_for_goes_to_another(
    shared_rabbit: Rabbit, channel: Any, listening: Listening
) -> None:
    first = listening(threads=1)
    declared(shared_rabbit, "search")
    until(lambda: queues_of(shared_rabbit, "consumers").get("search") == ["1"], within_s=PATIENCE_S)
    ring(channel, "one", "two", "three")
    first.wait_for(1)
    second = listening(threads=2)
    assert sorted(first.wait_for(1) + second.wait_for(2)) == ["one", "three", "two"]


@pytest.mark.nightly
def test_no_bell_goes_back_and_forth_until_the_broker_drops_it(
    shared_rabbit: Rabbit, channel: Any, listening: Listening
) -> None:
    # Neither queue is ever empty, and one thread is free for one of them at a time.
    heard = listening(threads=1)
    heard.lasts_s = 2 * HOLD_S
    declared(shared_rabbit, "search", "expand")
    count = DELIVERY_LIMIT + 5
    for number in range(count):
        ring(channel, f"search-{number}")
        ring(channel, f"expand-{number}", queue=Queue.EXPAND)
    steps = heard.wait_for(2 * count)
    assert sorted(steps) == sorted(f"{queue}-{number}" for queue in ("search", "expand") for number in range(count))


@pytest.mark.parametrize("may_configure", [pytest.param("", marks=pytest.mark.nightly), "embed"])
def test_a_queue_that_is_missing_and_may_not_be_declared_is_named_with_the_remedy(
    shared_rabbit: Rabbit, listening: Listening, may_configure: str
) -> None:
    shared_rabbit.ask("set_permissions", "-p", HOST, "guest", f"^{may_configure}$", ".*", ".*")
    try:
        with structlog.testing.capture_logs() as logged:
            listening(threads=2, queues=("search",))
            until(lambda: [line for line in logged if line["event"] == "cannot use a queue"], within_s=PATIENCE_S)
    finally:
        shared_rabbit.ask("set_permissions", "-p", HOST, "guest", ".*", ".*", ".*")
    said = next(line for line in logged if line["event"] == "cannot use a queue")
    assert said["queue"] == "search"
    assert "ACCESS_REFUSED" in said["declaring"]
    assert "rabbitmqctl set_permissions" in said["mend"]
    assert "rabbitmqctl delete_queue" not in said["mend"]


@pytest.mark.nightly
def test_a_queue_that_the_user_may_not_read_is_named_with_the_remedy(
    shared_rabbit: Rabbit, channel: Any, listening: Listening
) -> None:
    kombu.Queue("search", queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
    kombu.Queue("expand", queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
    shared_rabbit.ask("set_permissions", "-p", HOST, "guest", ".*", ".*", "^expand$")
    try:
        with structlog.testing.capture_logs() as logged:
            listening(threads=2)
            until(lambda: [line for line in logged if line["event"] == "cannot fetch bells"], within_s=PATIENCE_S)
    finally:
        shared_rabbit.ask("set_permissions", "-p", HOST, "guest", ".*", ".*", ".*")
    said = next(line for line in logged if line["event"] == "cannot fetch bells")
    assert "ACCESS_REFUSED" in said["detail"]
    assert "'search'" in said["detail"]


@pytest.mark.nightly
@pytest.mark.parametrize("may_configure", ["", "search"])
def test_a_worker_whose_user_may_not_declare_uses_the_queues_that_are_there(
    shared_rabbit: Rabbit, channel: Any, listening: Listening, may_configure: str
) -> None:
    kombu.Queue("expand", queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
    shared_rabbit.ask(
        "set_permissions", "-p", HOST, "guest", f"^{may_configure}$", "^amq.default$", "^(search|expand)$"
    )
    try:
        heard = listening(threads=2)
        ring(channel, "one", queue=Queue.EXPAND)
        assert heard.wait_for(1) == ["one"]
    finally:
        shared_rabbit.ask("set_permissions", "-p", HOST, "guest", ".*", ".*", ".*")


@pytest.mark.nightly
def test_a_queue_that_somebody_deletes_is_declared_again(
    shared_rabbit: Rabbit, channel: Any, listening: Listening
) -> None:
    heard = listening(threads=2)
    declared(shared_rabbit, "search", "expand")
    kombu.Queue("search", channel=channel).delete()
    declared(shared_rabbit, "search", "expand")
    ring(channel, "again")
    assert heard.wait_for(1) == ["again"]


FOREIGN: dict[str, dict[str, Any]] = {
    "classic": {},
    "quorum without a limit": {"x-queue-type": "quorum"},
    "another limit": {"x-queue-type": "quorum", "x-delivery-limit": 3},
    "bounded": {"x-max-length": 100, "x-overflow": "reject-publish"},
    "with priorities": {"x-max-priority": 9},
}


@pytest.mark.parametrize("arguments", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_queue_that_was_declared_otherwise_is_used_as_it_is_and_named(
    channel: Any, listening: Listening, arguments: dict[str, Any]
) -> None:
    kombu.Queue("search", queue_arguments=arguments, channel=channel).declare()
    with structlog.testing.capture_logs() as logged:
        heard = listening(threads=2)
        ring(channel, "one", "two")
        assert sorted(heard.wait_for(2)) == ["one", "two"]
    (said,) = (line for line in logged if line["event"].startswith("a queue is used as it is"))
    assert (said["queue"], said["log_level"]) == ("search", "warning")
    assert "inequivalent arg" in said["error"]
    assert "rabbitmqctl delete_queue search" in said["mend"]


@pytest.mark.nightly
def test_a_queue_of_another_program_alone_is_named_and_the_others_are_served(
    shared_rabbit: Rabbit, channel: Any, listening: Listening
) -> None:
    with kombu.Connection(shared_rabbit.url(HOST)) as other, structlog.testing.capture_logs() as logged:
        kombu.Queue("search", exclusive=True, channel=other.default_channel).queue_declare()
        heard = listening(threads=2)
        declared(shared_rabbit, "expand")
        ring(channel, "one", queue=Queue.EXPAND)
        assert heard.wait_for(1) == ["one"]
    (said,) = (line for line in logged if line["event"] == "cannot use a queue")
    assert said["queue"] == "search"
    assert "RESOURCE_LOCKED" in said["error"]
    assert "end the program that holds it" in said["mend"]


def test_what_is_no_bell_is_dropped_and_counted_and_the_next_bell_is_answered(
    shared_rabbit: Rabbit, channel: Any, listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    monkeypatch.setattr("querymill_workers.wiring.fleet_counters", lambda: Counted(counted))
    heard = listening(threads=2)
    declared(shared_rabbit, "search", "expand")
    sent = 0
    for element in NO_BELLS.values():
        body, headers, kind = parts_of(element)
        publish(channel, body, headers, kind=kind)
        sent += 1
    ring(channel, "real")
    assert heard.wait_for(1) == ["real"]
    assert counted.count("elements_dropped/search") == sent


class Counted:
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def count(self, name: str) -> None:
        self._names.append(name)


def parts_of(element: bytes) -> tuple[bytes, dict[str, Any], str]:
    """What no bell is, as far as AMQP can carry it: an envelope's headers are a table there."""
    try:
        message = json.loads(element)
    except (ValueError, RecursionError):
        return element, {}, "application/json"
    if not isinstance(message, dict):
        return element, {}, "application/json"
    headers = message.get("headers")
    kind = message.get("content-type")
    body = str(message.get("body"))
    # AMQP has no envelope of its own kind in base64: what was one is another body.
    return body.encode(), headers if isinstance(headers, dict) else {}, kind if isinstance(kind, str) else "x/y"
