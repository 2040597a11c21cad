"""A receiver of OpenTelemetry's traces over HTTP, which keeps the spans that processes export."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

#: A busy machine needs its time, in seconds. An exporter sends every 5 s, or as its environment says.
PATIENCE_S = 30


@dataclass(frozen=True)
class Span:
    """A span as it was received. ``service`` is that of the process."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    has_failed: bool


class TraceReceiver:
    """Receives spans on a free port of loopback."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name of the standard library
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.spans.extend(_spans(ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *values: Any) -> None:  # noqa: A002  # as above
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What a process is told to send its spans here, at once and uncompressed."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }

    def wait_for(self, trace: str, is_whole: Callable[[Sequence[Span]], bool]) -> list[Span]:
        """Wait until the spans of a trace are whole, and return them."""
        until = time.monotonic() + PATIENCE_S
        while True:
            found = [span for span in self.spans if span.trace == trace]
            if is_whole(found) or time.monotonic() > until:
                return found
            time.sleep(0.05)


def _spans(request: ExportTraceServiceRequest) -> list[Span]:
    found = []
    for resource in request.resource_spans:
        service = _attributes(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
                failed = span.status.code == span.status.STATUS_CODE_ERROR
                found.append(Span(service, span.name, *ids, _attributes(span.attributes), failed))
    return found


def _attributes(written: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in written}
