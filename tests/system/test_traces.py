"""One trace follows a job: from its caller through every step, call of a provider and store, over the bells."""

import json
import secrets
from collections.abc import Iterator, Sequence

import httpx
import pytest

from querymill import Querymill, ReportSearch
from querymill_shared.tracing import span
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.trace_receiver import Span, TraceReceiver
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import gateway_process

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
        spans = receiver.wait_for(trace, lambda found: any(each.name == "reports original" for each in found))
    assert parent in above(spans, named(spans, "reports original"))
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
    traces = {each.trace for each in receiver.spans if each.attributes.get("querymill.job_id") == job.id}
    lone = {each.name for each in receiver.spans if each.name == "postgresql" and each.parent == ""}
    assert len(traces) <= 1
    assert not lone
