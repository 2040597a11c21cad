"""When `up` says that everything runs: each queue has a worker, and the gateway calls itself ready."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from querymill.cli.exits import Unreachable
from querymill.cli.readiness import await_gateway, await_listeners
from querymill_shared.board import lives
from querymill_shared.board.connections import open_commands
from querymill_shared.board.valkey import ValkeyBoard
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fixtures.gateways import GatewayHere


@pytest.fixture
def board(valkey_url: str) -> Iterator[ValkeyBoard]:
    with open_commands(valkey_url) as client:
        client.flushdb()
        yield ValkeyBoard(client, Settings(redis_url=valkey_url))


class OneTryLate(BaseHTTPRequestHandler):
    """Says 503 to the first question and 200 to the next."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(503 if self.asked == 1 else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def gateway() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Gateway", (OneTryLate,), {})) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_queues_that_no_worker_serves_are_named(board: ValkeyBoard, valkey_url: str) -> None:
    board.beat("w@host#1", {"name": "w@host", "queues": [queue for queue in Queue if queue is not Queue.RANKS]})
    with pytest.raises(Unreachable, match="no worker listens on ranks"):
        await_listeners({"REDIS_URL": valkey_url}, within_s=0.2)


def test_the_last_worker_is_waited_for(board: ValkeyBoard, valkey_url: str) -> None:
    late = threading.Timer(0.3, board.beat, ("w@host#1", {"name": "w@host", "queues": list(Queue)}))
    late.start()
    await_listeners({"REDIS_URL": valkey_url})
    late.join()
    with open_commands(valkey_url) as client:
        assert lives.listening(lives.read_lives(client))[Queue.RANKS] == 1


def test_workers_that_live_are_waited_for_longer(board: ValkeyBoard, valkey_url: str) -> None:
    asked: list[bool] = []

    def are_alive() -> bool:
        if not asked:  # only then does the last one listen
            board.beat("w@host#1", {"name": "w@host", "queues": list(Queue)})
        asked.append(True)
        return True

    await_listeners({"REDIS_URL": valkey_url}, are_alive=are_alive, within_s=0.1)
    assert asked == [True]


def test_workers_that_live_are_said_to_start(board: ValkeyBoard, valkey_url: str) -> None:
    with pytest.raises(Unreachable, match=r"the workers of search, .* are still starting"):
        await_listeners({"REDIS_URL": valkey_url}, are_alive=lambda: True, within_s=0.1, alive_within_s=0.1)
    with pytest.raises(Unreachable, match="no worker listens on search"):
        await_listeners({"REDIS_URL": valkey_url}, are_alive=lambda: False, within_s=0.1)


def test_a_gateway_that_is_not_ready_yet_is_asked_again(gateway: int) -> None:
    await_gateway(gateway, serves=lambda: True)


def test_a_foreign_process_on_the_port_does_not_make_the_gateway_ready(gateway: int) -> None:
    with pytest.raises(Unreachable, match=r"another process listens there; .* `querymill up --port N`"):
        await_gateway(gateway, serves=lambda: False, within_s=1)


def test_a_gateway_that_begins_to_listen_late_is_waited_for(gateway: int) -> None:
    looks = iter((False, False, True))
    await_gateway(gateway, serves=lambda: next(looks))


def test_what_the_gateway_answered_last_is_said() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), OneTryLate) as server:
        port = server.server_address[1]
    with pytest.raises(Unreachable, match="/readyz did not answer"):
        await_gateway(port, serves=lambda: True, within_s=0.2)


@pytest.mark.one_server  # a cluster is no broker, so such a gateway is not ready
def test_a_gateway_that_only_lacks_keys_is_up(valkey_url: str) -> None:
    settings = Settings(redis_url=valkey_url, querymill_keys_required=True)
    with GatewayHere(settings) as gateway:
        await_gateway(gateway.port, serves=lambda: True, within_s=5)
