"""One trace follows a job: from its caller through every step, call of a provider and store, over the bells."""

import json
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import uuid4

import httpx
import psutil
import pytest

from querymill import (
    ConversationSearch,
    FileSearch,
    IngestConversations,
    IngestFiles,
    IngestMessages,
    IngestModules,
    MessageSearch,
    ModuleSearch,
    Querymill,
    ReportSearch,
    SourceFile,
)
from querymill_shared.tracing import span
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.trace_receiver import PATIENCE_S, Span, TraceReceiver
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import Deployment, ended
from tests.fixtures.gateways import gateway_process
from tests.fixtures.tallies import until

#: What an orchestrator waits between SIGTERM and SIGKILL, in seconds.
GRACE_S: Final = 15

#: Stands in every question: no span may quote it.
TEXT = "zebrawaltz"


@pytest.fixture(scope="module")
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as receiving:
        yield receiving


@pytest.fixture(scope="module")
def traced_worker(deployment: Deployment, receiver: TraceReceiver) -> Iterator[WorkerProcess]:
    with WorkerProcess(deployment.environment | receiver.environment, name="traced") as process:
        yield process


def given() -> tuple[str, str, str]:
    """Return a new traceparent, its trace and its span."""
    trace, parent = secrets.token_hex(16), secrets.token_hex(8)
    return f"00-{trace}-{parent}-01", trace, parent


def named(spans: Sequence[Span], name: str) -> Span:
    (found,) = [each for each in spans if each.name == name]
    return found


def above(spans: Sequence[Span], span_: Span) -> set[str]:
    """Return the names of all spans above one, and the id of the parent that is none of them."""
    by_id, names = {each.id: each for each in spans}, set()
    while span_.parent in by_id:
        span_ = by_id[span_.parent]
        names.add(span_.name)
    return names | {span_.parent}


@pytest.fixture
def only_traced(worker: WorkerProcess, filings: str, traced_worker: WorkerProcess) -> Iterator[str]:
    """The filings, with no worker but the one that is traced."""
    assert traced_worker.is_alive
    worker.terminate()
    yield filings
    worker.start()


def test_a_request_over_http_is_one_trace_with_its_branches_calls_and_stores(
    only_traced: str, deployment: Deployment, receiver: TraceReceiver, openai_server: OpenAIServer
) -> None:
    traceparent, trace, parent = given()
    with gateway_process(deployment.environment | receiver.environment) as gateway:
        asked = {"kind": "reports", "query": f"ships {TEXT}", "collection": only_traced, "hyde": True}
        answered = httpx.post(f"{gateway.url}/v1/jobs?wait=20", json=asked, headers={"traceparent": traceparent})
        assert answered.status_code == 200, answered.text
        wanted = {"POST", "reports original", "reports hyde", "chat scripted", "embeddings multilingual-e5-small"}
        spans = receiver.wait_for(trace, lambda found: wanted <= {each.name for each in found})
        lines = [json.loads(line) for line in gateway.written.splitlines() if '"request"' in line]
    assert [line["trace_id"] for line in lines if line["route"] == "/v1/jobs"] == [trace]
    assert wanted | {"postgresql"} <= {each.name for each in spans}
    request, hyde = named(spans, "POST"), named(spans, "reports hyde")
    assert (request.service, request.parent) == ("querymill-gateway", parent)
    assert request.attributes["http.route"] == "/v1/jobs"
    assert (hyde.service, hyde.parent, hyde.attributes["querymill.attempt"]) == ("querymill-worker", request.id, 1)
    assert "reports hyde" in above(spans, named(spans, "chat scripted"))
    chat = named(spans, "chat scripted").attributes
    assert (chat["gen_ai.operation.name"], chat["gen_ai.request.model"]) == ("chat", "scripted")
    assert all(parent in above(spans, each) for each in spans)
    assert TEXT not in repr(spans)


def test_an_agent_may_name_its_trace_in_the_call_and_no_address_is_quoted(
    only_traced: str, deployment: Deployment, receiver: TraceReceiver
) -> None:
    traceparent, trace, parent = given()
    arguments = {"query": f"ships {TEXT}", "collection": only_traced, "kind": "reports"}
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": arguments, "_meta": {"traceparent": traceparent}},
    }  # fmt: skip
    with gateway_process(deployment.environment | receiver.environment) as gateway:
        headers = {"Accept": "application/json, text/event-stream"}
        answered = httpx.post(f"{gateway.url}/mcp?q={TEXT}", json=call, headers=headers, timeout=30)
        assert answered.status_code == 200, answered.text
        # The gateway exports its spans at another moment than the worker.
        spans = receiver.wait_for(
            trace, lambda found: {"tools/call search", "reports original"} <= {each.name for each in found}
        )
    assert {"tools/call search", parent} <= above(spans, named(spans, "reports original"))
    assert TEXT not in repr(receiver.spans)


def test_a_python_caller_who_traces_is_above_its_job_and_the_worker_logs_the_trace(
    only_traced: str, mill: Querymill, receiver: TraceReceiver, traced_worker: WorkerProcess
) -> None:
    traceparent, trace, parent = given()
    with span("a chat turn", parent=traceparent):
        job = mill.submit(ReportSearch(query=f"how many ships {TEXT}", collection=only_traced))
    job.result(timeout=20)
    spans = receiver.wait_for(trace, lambda found: any(each.name == "reports original" for each in found))
    assert {parent} <= above(spans, named(spans, "reports original"))
    assert trace in traced_worker.log
    assert TEXT not in repr(spans)


def test_what_no_trace_asked_for_makes_no_span_of_a_store(
    only_traced: str, mill: Querymill, receiver: TraceReceiver
) -> None:
    job = mill.submit(ReportSearch(query="soup sells well", collection=only_traced))
    job.result(timeout=20)

    def traces() -> set[str]:
        return {each.trace for each in receiver.spans if each.attributes.get("querymill.job_id") == job.id}

    until(lambda: bool(traces()), within_s=PATIENCE_S)
    (trace,) = traces()
    receiver.wait_for(trace, lambda found: any(each.name == "postgresql" for each in found))
    assert len(traces()) == 1
    assert {each.name for each in receiver.spans if each.parent == "" and each.name == "postgresql"} == set()


def ingests(collection: str) -> list[Any]:
    """One document for each retriever but that of reports, whose filings are there."""
    chat = session("s", "the fleet counts nine ships", "soup for lunch", name="Harbour", user_name="Ada")
    code = {"faiss_id": 1, "file_path": "1.js", "code": "run()", "meta_info": {"vtkjs_modules": ["vtkConeSource"]}}
    return [
        IngestMessages(collection=collection, documents=(chat,)),
        IngestConversations(collection=collection, documents=(chat,)),
        IngestFiles(
            collection=collection, documents=(SourceFile(path="ships.py", content="def ships(): ..."),), vectors=True
        ),
        IngestModules.model_validate({"collection": collection, "documents": [code]}),
    ]


SEARCHES: Final[dict[str, tuple[type[Any], dict[str, Any], bool]]] = {
    # The words of its question are searched while another thread embeds it.
    "messages": (MessageSearch, {"ranking": "best"}, True),
    "messages by vectors": (MessageSearch, {"ranking": "vectors"}, True),
    "conversations": (ConversationSearch, {}, False),
    "reports": (ReportSearch, {}, True),
    "files": (FileSearch, {}, False),
    "modules": (ModuleSearch, {}, False),
}


def test_the_steps_calls_and_stores_of_every_retriever_are_in_the_trace_of_its_caller(
    only_traced: str, mill: Querymill, receiver: TraceReceiver
) -> None:
    for request in ingests(only_traced):
        ended(mill, mill.submit(request))
    for search, (request_of, fields, embeds) in SEARCHES.items():
        traceparent, trace, parent = given()
        with span("a chat turn", parent=traceparent):
            job = mill.submit(
                request_of.model_validate({"query": f"ships {uuid4().hex} {TEXT}", "collection": only_traced, **fields})
            )
        job.result(timeout=30)
        wanted = {"postgresql", *(["embeddings multilingual-e5-small"] if embeds else [])}

        def is_whole(found: Sequence[Span], wanted: set[str] = wanted, parent: str = parent) -> bool:
            has_step = any("querymill.attempt" in each.attributes for each in found)
            # A span is exported when it ends, so after those below it.
            return (
                has_step
                and wanted <= {each.name for each in found}
                and all(parent in above(found, each) for each in found)
            )

        spans = receiver.wait_for(trace, is_whole)
        assert is_whole(spans), (search, sorted(each.name for each in spans))
        steps = {each.name for each in spans if "querymill.attempt" in each.attributes}
        assert all(steps & above(spans, each) for each in spans if each.name in wanted), search
        assert TEXT not in repr(spans)


@pytest.fixture
def silent() -> Iterator[dict[str, str]]:
    """The environment of a process whose collector takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.getsockname()[1]}"}


def seconds_to_end(process: psutil.Process) -> float:
    begun = time.monotonic()
    process.terminate()
    process.wait(60)
    return time.monotonic() - begun


def test_a_collector_that_hangs_keeps_no_process_from_ending(
    deployment: Deployment, filings: str, worker: WorkerProcess, silent: dict[str, str]
) -> None:
    worker.terminate()
    try:
        with (
            WorkerProcess(deployment.environment | silent, name="silenced") as traced,
            gateway_process(deployment.environment | silent) as gateway,
        ):
            asked = {"kind": "reports", "query": "ships?", "collection": filings}
            assert httpx.post(f"{gateway.url}/v1/jobs?wait=20", json=asked, timeout=30).status_code == 200
            assert traced.process is not None
            assert seconds_to_end(traced.process) < GRACE_S
            assert seconds_to_end(gateway.process) < GRACE_S
    finally:
        worker.start()


def test_the_last_spans_of_a_process_that_ends_are_exported(
    deployment: Deployment, filings: str, receiver: TraceReceiver
) -> None:
    traceparent, trace, _ = given()
    late = receiver.environment | {"OTEL_BSP_SCHEDULE_DELAY": "60000"}
    with gateway_process(deployment.environment | late) as gateway:
        assert httpx.get(f"{gateway.url}/v1/jobs", headers={"traceparent": traceparent}, timeout=30).status_code == 200
        gateway.process.terminate()
        gateway.process.wait(60)
    assert [each.name for each in receiver.wait_for(trace, bool)] == ["GET"]
