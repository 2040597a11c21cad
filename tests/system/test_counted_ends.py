"""How jobs end, as the fleet's figures have it: failures of ours, parts that lack, mistakes of callers."""

import asyncio
import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import pytest
import redis
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from querymill import FileSearch, IngestFiles, IngestReports, JobFailed, Querymill, ReportSearch, Settings, SourceFile
from querymill.gateway.http.fleet import FRESH_S
from querymill_shared.contracts.reports.ingest import Report
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.console import read_page
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tallies import until

#: Of this module alone: another board gives writes of one document versions of its own.
COLLECTION = f"ended{uuid4().hex[:8]}"
NOT_FOUND = 'querymill_jobs_ended_total{kind="show_document",state="not_found"}'
INCOMPLETE = 'querymill_jobs_incomplete_total{kind="reports"}'
SESSION = {"session_id": "s1", "started_at": "2026-03-01T09:00:00Z", "messages": [{"role": "user", "text": "rain"}]}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "reports": {"title": "Nordhav", "company": "Nordhav", "pages": [{"page": 1, "text": "nine ships"}]},
    "messages": SESSION,
    "conversations": SESSION,
    "modules": {"file_path": "cone.js", "code": "cone()", "meta_info": {"vtkjs_modules": ["vtkCone"]}},
    "files": {"path": "a.py", "content": "def margin(): ..."},
}
REPORT = Report.model_validate({
    "sha1": "a1", "title": "Nordhav 2022", "company": "Nordhav", "period": "2022",
    "pages": [{"page": 1, "text": "the fleet counts nine ships"}],
})  # fmt: skip


@dataclass
class Fleet:
    """A board of its own, with a worker that serves metrics, a gateway, a client and a command line."""

    mill: Querymill
    settings: Settings
    url: str
    worker_port: int
    querymill: CommandLine
    client: redis.Redis

    def metrics(self) -> dict[str, float]:
        """What the gateway and the worker agree on of how jobs ended."""
        until(lambda: self._ends_of(self.url) == self._ends_of(self._worker), within_s=PATIENCE_S)
        return self._ends_of(self._worker)

    @property
    def _worker(self) -> str:
        return f"http://127.0.0.1:{self.worker_port}"

    def _ends_of(self, url: str) -> dict[str, float]:
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            lines = [line.rpartition(" ") for line in answer.read().decode().splitlines()]
        wanted = ("querymill_jobs_ended_total", "querymill_jobs_incomplete_total")
        return {name: float(value) for name, _, value in lines if name.startswith(wanted) and float(value)}

    def jobs(self) -> dict[str, Any]:
        """The jobs by kind, as `querymill status --json` has them, once the gateway's figures agree."""
        shown: dict[str, Any] = {}

        def is_agreed() -> bool:
            shown.update(json.loads(self.querymill("status", "--json").stdout)["fleet"]["jobs"])
            of_gateway = httpx.get(f"{self.url}/v1/fleet").json()["jobs"]
            return {kind: job["ended"] for kind, job in shown.items()} == {
                kind: job["ended"] for kind, job in of_gateway.items()
            }

        until(is_agreed, within_s=PATIENCE_S)
        return shown

    def overview(self) -> str:
        time.sleep(FRESH_S)  # a figure serves all who look within this time
        return console_of(self.url)


def console_of(gateway: str) -> str:
    """Return the text of the overview."""
    answer = httpx.get(f"{gateway}/console", timeout=PATIENCE_S)
    return read_page(answer.text, answer.headers).text


@pytest.fixture(scope="module")
def fleet(deployment: Deployment, _openai_server: OpenAIServer) -> Iterator[Fleet]:
    """All kinds are stored in one collection, as far as the tests need it."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/11"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = deployment.environment | {"REDIS_URL": url, "QUERYMILL_METRICS_PORT": str(port)}
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with (
        redis.Redis.from_url(url, decode_responses=True) as client,
        Querymill(settings=settings) as mill,
        GatewayHere(settings) as gateway,
    ):
        client.flushdb()
        with WorkerProcess(environment, threads=8, name="counted"):
            finished(mill, IngestReports(collection=COLLECTION, documents=(REPORT,)))
            yield Fleet(mill, settings, gateway.url, port, CommandLine(environment), client)
        client.flushdb()


@pytest.fixture(autouse=True)
def a_new_minute(fleet: Fleet) -> None:
    """Let the figures of the last minutes begin with the test, once what the one before has begun has ended."""
    until(lambda: not list(fleet.client.scan_iter("qm:{*}:open")), within_s=PATIENCE_S)
    for key in fleet.client.scan_iter("qm:{*}:ends:*"):
        fleet.client.delete(key)


def read_by_agent(url: str, document: str) -> str:
    """Have an agent read a document over MCP, and return what it is told."""

    async def called() -> str:
        async with (
            httpx2.AsyncClient(timeout=PATIENCE_S) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            return str((await client.call_tool("read", {"id": document})).content)

    return asyncio.run(called())


def until_done(mill: Querymill, kind: str, document: dict[str, Any], gateway: str) -> None:
    """Store a document, and wait until it can be looked up."""
    sent = httpx.post(
        f"{gateway}/v1/collections/{COLLECTION}/{kind}", content=json.dumps(document).encode(), timeout=PATIENCE_S,
        headers={"Content-Type": "application/x-ndjson"},
    )  # fmt: skip
    assert sent.json()["accepted"] == 1, sent.text
    until(lambda: kind in (mill.collections().get(COLLECTION) or ()), within_s=PATIENCE_S)


@pytest.mark.parametrize("kind", all_at_night(DOCUMENTS, short=["files"]))
def test_a_look_up_of_what_is_not_stored_is_no_failed_job(fleet: Fleet, kind: Any) -> None:
    until_done(fleet.mill, kind, DOCUMENTS[kind], fleet.url)
    before, missing = fleet.metrics().get(NOT_FOUND, 0), uuid4().hex
    shown = fleet.querymill("show", kind, missing, "--collection", COLLECTION)
    assert (shown.returncode, f"'{missing}' is not among the {kind}" in shown.stderr) == (1, True)
    with pytest.raises(JobFailed, match="is not among the") as raised:
        fleet.mill.show(kind, f"{missing}2", collection=COLLECTION)
    assert raised.value.code == "invalid"
    gone = httpx.get(f"{fleet.url}/v1/collections/{COLLECTION}/{kind}/{missing}3", timeout=PATIENCE_S)
    assert (gone.status_code, gone.json()["type"]) == (404, "/problems/not-found")
    assert "nothing is stored under this id" in read_by_agent(fleet.url, f"{kind}:{COLLECTION}/{missing}4")
    after = fleet.metrics()
    assert after[NOT_FOUND] == before + 4
    assert [name for name in after if "show_document" in name and "failed" in name and after[name]] == []
    assert fleet.jobs()["show_document"]["ended"]["not_found"] == after[NOT_FOUND]
    assert "not found" in fleet.querymill("status").stdout
    assert "All is well." in fleet.overview()


@pytest.mark.nightly  # by day: a look-up, above
def test_other_mistakes_of_callers_are_no_failed_jobs_either(fleet: Fleet) -> None:
    files = (SourceFile(path="a.py", content="def margin(): ..."),)
    fleet.mill.submit(IngestFiles(collection="code", documents=files)).result(timeout=30)
    unreadable = FileSearch(query="margin", collection="code", patterns=("(",))
    with pytest.raises(JobFailed, match="patterns"):
        fleet.mill.submit(unreadable).result(timeout=30)
    assert fleet.mill.drop("reports", collection=COLLECTION, ids=["nobody"], timeout=30).outcome == "absent"
    assert fleet.querymill("list", "reports", "--collection", "nowhere").returncode == 2
    assert list(fleet.mill.export("reports", collection="nowhere")) == []
    searched = fleet.querymill("search", "reports", "ships", "--collection", "nowhere")
    assert (searched.returncode, "nowhere" in searched.stderr) == (2, True)
    assert fleet.querymill("cancel", "4f" * 16).returncode != 0
    assert httpx.delete(f"{fleet.url}/v1/jobs/{'4f' * 16}").status_code == 404
    wrong = fleet.querymill("reembed", "reports", "--collection", "nowhere", "--wait")
    assert wrong.returncode != 0, wrong
    after = fleet.metrics()
    assert after['querymill_jobs_ended_total{kind="files",state="refused"}'] == 1
    failed = ('state="failed"', 'state="dead"')
    assert [name for name, count in after.items() if count and any(state in name for state in failed)] == []
    assert "All is well." in fleet.overview()


def test_incomplete_jobs_are_counted_everywhere_and_the_console_says_so(
    fleet: Fleet, openai_server: OpenAIServer
) -> None:
    for number in range(3):
        fleet.mill.submit(ReportSearch(query=f"ships {number}?", collection=COLLECTION)).result(timeout=30)
    assert "All is well." in fleet.overview()
    before = fleet.metrics().get(INCOMPLETE, 0)
    openai_server.script.chat = lambda _: Answer(b"{}", status=503)
    for _ in range(10):
        asked = ReportSearch(query=f"ships {uuid4().hex}?", collection=COLLECTION, hyde=True, deadline=5)
        assert not fleet.mill.submit(asked).result(timeout=30).complete
    assert fleet.metrics()[INCOMPLETE] == before + 10
    assert fleet.jobs()["reports"]["incomplete"] == before + 10
    printed = fleet.querymill("status").stdout
    assert "incomplete" in printed
    (row,) = [line.split() for line in printed.splitlines() if line.split()[:1] == ["reports"]]
    assert row[3] == str(int(before) + 10)
    shown = fleet.overview()
    assert "10 of 13 jobs (reports: 10 of 13) ended in the last 5 min with a part missing." in shown
    assert "All is well." not in shown
