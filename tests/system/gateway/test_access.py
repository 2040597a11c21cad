"""What a gateway logs and counts of requests: routes, methods, statuses and times, and nothing that a caller chose."""

import json
import signal
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayProcess, gateway_process
from tests.fixtures.tallies import until

SECRET = "UNSPEAKABLE"


@pytest.fixture
def gateway(deployment: Deployment) -> Iterator[GatewayProcess]:
    with gateway_process(deployment.environment) as running:
        yield running


def lines_of(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return every line of standard error: each is an object."""
    return [json.loads(line) for line in gateway.written.splitlines()]


def requests_of(gateway: GatewayProcess, **wanted: Any) -> list[dict[str, Any]]:
    return [
        line for line in lines_of(gateway)
        if line["event"] == "request" and all(line[name] == value for name, value in wanted.items())
    ]  # fmt: skip


def counted(http: httpx.Client) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in http.get("/metrics").text.splitlines()]
    return {name: float(value) for name, _, value in lines if name.startswith("querymill_gateway_requests_total")}


def series(route: str, method: str, status: str) -> str:
    return f'querymill_gateway_requests_total{{method="{method}",route="{route}",status="{status}"}}'


@pytest.mark.usefixtures("worker", "filings")
def test_each_request_is_one_line_by_its_route_with_its_id(gateway: GatewayProcess) -> None:
    with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as http:
        sent = http.post("/v1/jobs", json={"kind": "reports", "query": SECRET, "collection": "filings", "deadline": 20})
        assert sent.status_code == 202, sent.text
        job = sent.json()["job_id"]
        shown = http.get(f"/v1/jobs/{job}")
        http.get(f"/v1/jobs/{SECRET}")
        http.get(f"/{SECRET}/{uuid4().hex}", params={"q": SECRET})
        http.request(SECRET, "/healthz")
        http.head("/healthz")
        http.get("/healthz", headers={"Accept": f"{SECRET}/x"})
        with http.stream("GET", f"/v1/jobs/{job}/events") as events:
            events.read()
        refused = http.get(f"/v1/jobs/{job}", headers={"Host": SECRET})
        assert refused.status_code == 421
    until(lambda: bool(requests_of(gateway, status=421)), within_s=PATIENCE_S)  # written once it has been answered
    (line,) = requests_of(gateway, request_id=shown.headers["Request-Id"])
    assert {name: line[name] for name in ("level", "logger", "method", "route", "status")} == {
        "level": "info", "logger": "querymill.access", "method": "GET", "route": "/v1/jobs/{job_id}", "status": 200,
    }  # fmt: skip
    assert line["ms"] > 0
    assert line["timestamp"].endswith("Z")
    (line,) = requests_of(gateway, request_id=sent.headers["Request-Id"])
    assert line["job"] == job  # the lines of the workers name the job
    assert {line["route"] for line in requests_of(gateway, status=404)} == {"unmatched", "/v1/jobs/{job_id}"}
    assert [line["route"] for line in requests_of(gateway, status=421)] == ["/v1/jobs/{job_id}"]
    assert [line["route"] for line in requests_of(gateway, method="other")] == ["/healthz"]
    assert requests_of(gateway, route="/v1/jobs/{job_id}/events", status=200)
    assert SECRET not in gateway.written


def test_the_lines_of_a_request_have_the_trace_that_it_names(gateway: GatewayProcess) -> None:
    trace_id = uuid4().hex
    for path in ("/v1/jobs", "/v1/jobs/no-job", f"/console/jobs/{'4f' * 16}"):
        httpx.get(f"{gateway.url}{path}", headers={"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"})
    httpx.delete(f"{gateway.url}/v1/jobs/{'4f' * 16}", headers={"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"})
    httpx.get(f"{gateway.url}/v1/jobs", headers={"traceparent": SECRET})
    until(lambda: len(requests_of(gateway, route="/v1/jobs")) == 2, within_s=PATIENCE_S)
    named = [line for line in requests_of(gateway) if line.get("trace_id") == trace_id]
    assert [line["method"] for line in named] == ["GET", "GET", "GET", "DELETE"]
    assert "trace_id" not in requests_of(gateway, route="/v1/jobs")[-1]


def test_the_lines_are_json_from_the_first_to_the_last(gateway: GatewayProcess) -> None:
    assert httpx.get(f"{gateway.url}/healthz").status_code == 200
    gateway.process.send_signal(signal.SIGTERM)
    gateway.process.wait(timeout=PATIENCE_S)
    first, *_ = lines_of(gateway)
    assert (first["event"], first["host"]) == ("gateway ready", "127.0.0.1")
    assert first["port"] == int(gateway.url.rpartition(":")[2])


def test_at_a_higher_level_the_audit_stays_and_requests_go(deployment: Deployment) -> None:
    with gateway_process(deployment.environment | {"QUERYMILL_LOG_LEVEL": "WARNING"}) as gateway:
        assert httpx.get(f"{gateway.url}/healthz").status_code == 200
        httpx.delete(f"{gateway.url}/v1/jobs/{'4f' * 16}")
        line = json.dumps({"id": "a", "title": "t", "company": "c", "pages": [{"page": 1, "text": SECRET}]})
        sent = httpx.post(
            f"{gateway.url}/v1/collections/audit/reports", content=line, timeout=PATIENCE_S,
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert sent.status_code in (200, 202), sent.text
        until(lambda: lines_of(gateway), within_s=PATIENCE_S)
        assert {line["event"] for line in lines_of(gateway)} == {"audit"}
        assert SECRET not in gateway.written


def test_requests_are_counted_by_route_method_and_class_of_status(gateway: GatewayProcess) -> None:
    with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as http:
        http.get("/healthz")
        before = counted(http)
        assert before[series("/healthz", "GET", "2xx")] >= 1
        assert before[series("/healthz", "GET", "5xx")] == 0
        for number in range(30):
            http.get(f"/v1/jobs/{number}")
            http.get(f"/nothing/{number}")
            http.request(f"METHOD{number}", "/healthz")
            http.get("/v1/jobs", params={f"parameter{number}": "1"})
        once = counted(http)
        assert once[series("unmatched", "GET", "4xx")] == 30
        assert once[series("/v1/jobs/{job_id}", "GET", "4xx")] == 30
        assert once[series("/healthz", "other", "4xx")] == 30
        http.get("/v1/jobs/of-another-one")
        assert set(counted(http)) == set(once)
        page = http.get("/metrics").text
    assert 'querymill_gateway_request_seconds_bucket{le="+Inf",method="GET",route="/healthz"}' in page
