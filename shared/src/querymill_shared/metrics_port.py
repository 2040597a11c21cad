"""The port of a process for those who operate it: /metrics for Prometheus, and probes such as /healthz."""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from socketserver import TCPServer, ThreadingMixIn
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import redis
from prometheus_client import CollectorRegistry, make_wsgi_app

from querymill_shared.metrics import FleetFigures

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: Returns "" if all is well, or what is wrong.
Probe = Callable[[], str]
_NO_PROBES: Final[Mapping[str, Probe]] = MappingProxyType({})
#: A connection that sends nothing for this long is closed, in seconds.
IDLE_S: Final = 10


class _Server(ThreadingMixIn, WSGIServer):
    """Serves each connection in a thread of its own, which does not keep the process from ending."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Listen, without the library's question to a name server of what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = IDLE_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
        """Log nothing: a probe asks every few seconds."""


def serve_metrics(
    client: redis.Redis, port: int, *, host: str = "127.0.0.1", probes: Mapping[str, Probe] = _NO_PROBES
) -> None:
    """Serve /metrics and the probes, by path, at a port of an address, in a background thread.

    Raises:
        OSError: The port is taken, or the address is none of this machine's.
    """
    registry = CollectorRegistry()
    registry.register(FleetFigures(client))
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    server_class = _Server6 if family == socket.AF_INET6 else _Server
    server = make_server(host, port, _app(make_wsgi_app(registry), probes), server_class, _Handler)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def _app(metrics: Any, probes: Mapping[str, Probe]) -> Any:
    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            try:
                answered: Iterable[bytes] = metrics(environ, start_response)
            except redis.RedisError as error:
                status, wrong = HTTPStatus.INTERNAL_SERVER_ERROR, f"the board refuses: {type(error).__name__}"
            else:
                return answered
        elif path in probes:
            wrong = probes[path]()
            status = HTTPStatus.SERVICE_UNAVAILABLE if wrong else HTTPStatus.OK
        else:
            status, wrong = HTTPStatus.NOT_FOUND, "there is nothing here"
        start_response(f"{status.value} {status.phrase}", [("Content-Type", "application/json")])
        return [json.dumps({"status": wrong or "ok"}).encode()]

    return answer
