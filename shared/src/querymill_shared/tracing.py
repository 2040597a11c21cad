"""Traces by OpenTelemetry: one job from its submission through each step, call of a provider and statement to its end.

The board carries the W3C ``traceparent`` of the caller, because a bell names a job and nothing more. Without an
exporter a process makes no spans and needs no package; it passes on what it was given.

Querymill writes its own spans. The instrumentations of Celery, psycopg, redis and the providers' client would put
statements, addresses, keys of the board and messages of models into theirs, which may quote a question or a passage,
and they follow neither a bell that stands for many steps nor a call that embeds texts of several jobs.
"""

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from querymill_shared.contracts.errors import QuerymillError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as OtelProvider
    from opentelemetry.trace import Span as OtelSpan

#: Either of them names where spans go, and begins tracing.
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
#: W3C Trace Context, version 00; later ones may be longer.
_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
#: Letters of a traceparent; a longer one is not carried.
MAX_LENGTH: Final = 200
NOT_INSTALLED: Final = "{} is set, but what makes traces is not installed: pip install 'querymill-shared[tracing]'"

Value = str | int | float | bool
Kind = Literal["INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]

#: What a process that ends gives its last spans to be exported, in seconds.
FLUSH_S: Final = 2.0

#: What `start` has begun in this process.
_begun: list["OtelProvider"] = []
#: What a caller gave to a process that makes no spans.
_given: ContextVar[str] = ContextVar("traceparent", default="")


class Span(Protocol):
    """A part of a trace: what it was about, and whether it failed."""

    def set(self, **attributes: Value | None) -> None:
        """Add attributes, with ``__`` for dots; None is left out."""

    def fail(self, kind: str) -> None:
        """Note that it failed, and as what. The words of an error may quote a text, so they stay out."""


class TracingNotInstalled(QuerymillError):
    """The environment asks for traces, and the packages that make them are not installed."""


def is_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment names an exporter, and does not switch it off."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    return not is_off and any(environ.get(name) for name in ENDPOINTS)


def start(service: str) -> None:
    """Begin to export spans, if the environment names an exporter. ``OTEL_SERVICE_NAME`` overrides the service.

    Raises:
        TracingNotInstalled: It does, and the packages are missing.
    """
    if not is_wanted():
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        name = next(name for name in ENDPOINTS if os.environ.get(name))
        raise TracingNotInstalled(NOT_INSTALLED.format(name)) from error
    named = os.environ.get("OTEL_SERVICE_NAME") or service
    resource = Resource.create({"service.name": named, "service.namespace": "querymill"})
    # The library would hold a process that ends for half a minute, if its collector hangs.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _begun.append(provider)


def end() -> None:
    """Export the last spans of what `start` has begun, and give up after `FLUSH_S`: a process that ends must end."""
    while _begun:
        ending = threading.Thread(target=_begun.pop().shutdown, name="last spans", daemon=True)
        ending.start()
        ending.join(FLUSH_S)


def traceparent_of(written: str | None) -> str:
    """Return a traceparent if it is one, else "".

    >>> traceparent_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    >>> traceparent_of("00-00000000000000000000000000000000-b7ad6b7169203331-01")
    ''
    """
    text = (written or "").strip()
    return text if len(text) <= MAX_LENGTH and _TRACEPARENT.fullmatch(text) else ""


def current_traceparent() -> str:
    """Return the traceparent of the span that is current here, or the one that was given, or ""."""
    # A program that traces has imported it; no other pays for the import.
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.trace import get_current_span

        found = get_current_span().get_span_context()
        if found.is_valid:
            return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"
    return _given.get()


def trace_id_of(traceparent: str) -> str:
    """Return the id of a trace as logs show it, or ""."""
    return traceparent.split("-")[1] if traceparent else ""


@contextmanager
def span(name: str, kind: Kind = "INTERNAL", *, parent: str = "", **attributes: Value | None) -> Iterator[Span]:
    """Run a part of a trace, below ``parent`` if that is given, else below the span that is current.

    An error that leaves it fails it. A process without an exporter passes the parent on.
    """
    with _span(name, kind, [parent] if parent else [], attributes) as begun:
        yield begun


@contextmanager
def span_below(parents: Sequence[str], name: str, kind: Kind, **attributes: Value | None) -> Iterator[Span]:
    """Run what is done for several at once: below the first of them, with links to the others; see `span`.

    Without parents there is no span.
    """
    with _span(name, kind, parents, attributes) if parents else nullcontext(_NoSpan()) as begun:
        yield begun


@contextmanager
def part(name: str, kind: Kind = "INTERNAL", **attributes: Value | None) -> Iterator[Span]:
    """Run a part of the trace that is current here; where there is none, nothing is traced. See `span`."""
    current = current_traceparent()
    with span_below([current] if current else [], name, kind, **attributes) as begun:
        yield begun


@contextmanager
def _span(name: str, kind: Kind, parents: Sequence[str], attributes: Mapping[str, Value | None]) -> Iterator[Span]:
    if not _is_traced():
        token = _given.set(parents[0] if parents else _given.get())
        try:
            yield _NoSpan()
        finally:
            _given.reset(token)
        return
    from opentelemetry import trace

    tracer, contexts = trace.get_tracer("querymill"), [_context_of(parent) for parent in parents]
    links = [trace.Link(trace.get_current_span(context).get_span_context()) for context in contexts[1:]]
    with tracer.start_as_current_span(
        name, contexts[0] if contexts else None, trace.SpanKind[kind], links=links, record_exception=False,
        set_status_on_exception=False,
    ) as begun:  # fmt: skip
        own = _Span(begun)
        own.set(**attributes)
        try:
            yield own
        except BaseException as error:
            own.fail(type(error).__name__)
            raise


def _is_traced() -> bool:
    """Return whether this process makes spans: by `start`, or because its program does."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return False
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    return isinstance(trace.get_tracer_provider(), TracerProvider)


def _context_of(traceparent: str) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


class _NoSpan:
    """What a process without an exporter has for a span."""

    def set(self, **attributes: Value | None) -> None:
        """Forget the attributes."""

    def fail(self, kind: str) -> None:
        """Forget the failure."""


class _Span:
    """A span of OpenTelemetry."""

    def __init__(self, begun: "OtelSpan") -> None:
        self._begun = begun

    def set(self, **attributes: Value | None) -> None:
        """Add attributes, with ``__`` for dots; None is left out."""
        self._begun.set_attributes(
            {name.replace("__", "."): value for name, value in attributes.items() if value is not None}
        )

    def fail(self, kind: str) -> None:
        """Note that it failed, and as what."""
        from opentelemetry.trace import Status, StatusCode

        self._begun.set_attribute("error.type", kind)
        self._begun.set_status(Status(StatusCode.ERROR, kind))
