"""A supervisord that a test scripts: the same XML-RPC over a real socket, behind the same password."""

import base64
import threading
import xmlrpc.client
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xmlrpc.server import SimpleXMLRPCRequestHandler, SimpleXMLRPCServer

from querymill_embedded.state import Control

PASSWORD = "secret"
_EXPECTED = "Basic " + base64.b64encode(f"querymill:{PASSWORD}".encode()).decode()


def process(name: str, state: str = "RUNNING", **fields: Any) -> dict[str, Any]:
    """What supervisord reports of one process."""
    return {
        "name": name, "group": "servers", "statename": state, "pid": 4711 if state == "RUNNING" else 0,
        "start": 1_000, "spawnerr": "", "description": "pid 4711, uptime 0:01:00",
    } | fields  # fmt: skip


class _Handler(SimpleXMLRPCRequestHandler):
    def do_POST(self) -> None:  # noqa: N802  # the library's name
        if self.headers.get("Authorization") == _EXPECTED:
            super().do_POST()
        else:
            self.send_error(401)


class ScriptedSupervisor:
    """Shows its ``looks`` one after the other (the last for ever), and writes down what it is asked to start."""

    def __init__(self, *looks: Sequence[dict[str, Any]], pid: int = 4711) -> None:
        self.looks = [list(look) for look in looks] or [[]]
        self.started: list[str] = []
        self.refuses: dict[str, tuple[int, str]] = {}
        self.server = SimpleXMLRPCServer(("127.0.0.1", 0), _Handler, logRequests=False, allow_none=True)
        self.server.register_function(lambda: pid, "supervisor.getPID")
        self.server.register_function(self._show, "supervisor.getAllProcessInfo")
        self.server.register_function(self._start, "supervisor.startProcess")  # type: ignore[arg-type]  # its stubs

    @property
    def control(self) -> Control:
        """How to reach it."""
        return Control(port=self.server.server_address[1], user="querymill", password=PASSWORD)

    def _show(self) -> list[dict[str, Any]]:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def _start(self, name: str, wait: bool) -> bool:  # supervisord's signature
        if name in self.refuses:
            raise xmlrpc.client.Fault(*self.refuses[name])
        assert not wait
        self.started.append(name)
        return True


@contextmanager
def scripted_supervisor(*looks: Sequence[dict[str, Any]], pid: int = 4711) -> Iterator[ScriptedSupervisor]:
    """Serve one for as long as the block runs."""
    supervisor = ScriptedSupervisor(*looks, pid=pid)
    thread = threading.Thread(target=supervisor.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield supervisor
    finally:
        supervisor.server.shutdown()
        supervisor.server.server_close()
        thread.join()
