"""Ingestions that did not come over HTTP: the console shows those of commands and of Python as it shows uploads."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from querymill import BadLine, IngestedDocument, IngestMessagesResult, PathOptions, Querymill
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.settings import Settings
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S
from tests.fixtures.short_forms import all_at_night

LINK = re.compile(r'href="/console/ingestions/([0-9a-f]{32})"[^>]*>([^<]*)<')


def report(sha1: str) -> dict[str, Any]:
    return {"sha1": sha1, "title": "t", "company": "Nordhav", "pages": [{"page": 1, "text": f"ships of {sha1}"}]}


def session(session_id: str) -> dict[str, Any]:
    said = [{"role": "user", "text": "rain"}]
    return {"session_id": session_id, "started_at": "2026-03-01T09:00:00Z", "messages": said}


def batches_of(http: httpx.Client, collection: str) -> list[dict[str, Any]]:
    page = http.get("/console/ingestions").text
    return [http.get(f"/v1/batches/{batch}").json() for batch, into in LINK.findall(page) if into == collection]


def awaited(http: httpx.Client, collection: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    ends = time.monotonic() + PATIENCE_S
    while True:
        found = [batch for batch in batches_of(http, collection) if holds(batch)]
        if found:
            return found[0]
        assert time.monotonic() < ends, batches_of(http, collection)
        time.sleep(0.1)


def interrupt(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE_S)


def test_a_command_is_listed_with_its_refused_lines(
    http: httpx.Client, worker: WorkerProcess, querymill: CommandLine, tmp_path: Path
) -> None:
    collection = f"c{uuid4().hex[:8]}"
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join([json.dumps(report("a")), "{no", json.dumps(report("b"))]))
    querymill("ingest", "reports", path, "--collection", collection)
    (batch,) = batches_of(http, collection)
    assert (batch["kind"], batch["accepted"], batch["stored"], batch["rejected"]) == ("reports", 2, 2, 1)
    assert not batch["is_open"]
    assert batch["first_rejected"][0]["line"] == 2
    assert batch["first_rejected"][0]["rule"].startswith("not JSON")


def test_documents_and_code_bases_of_python_are_listed_too(
    http: httpx.Client, worker: WorkerProcess, deployment: Deployment, tmp_path: Path
) -> None:
    collection = f"c{uuid4().hex[:8]}"
    (tmp_path / "a.txt").write_text("nine ships")
    (tmp_path / "b.pdf").write_text("no document")
    with closing(Querymill(settings=deployment.settings)) as mill:
        mill.ingest("reports", tmp_path, collection=collection, options=PathOptions(company="Nordhav"))
        mill.ingest("files", tmp_path, collection=collection)
        told: list[object] = []
        mill.ingest("messages", [session("s1"), "{no"], collection=collection, on_event=told.append)
        mill.ingest("reports", tmp_path / "a.txt", collection=collection, options=PathOptions(company="Nordhav"))
    found = {batch["kind"]: batch for batch in batches_of(http, collection)}
    assert len(found) == len(batches_of(http, collection)), "what changed nothing has no record"
    assert (found["reports"]["stored"], found["reports"]["first_rejected"][0]["field"]) == (1, str(tmp_path / "b.pdf"))
    assert (found["files"]["accepted"], found["files"]["rejected"]) == (2, 0)
    assert (found["messages"]["stored"], found["messages"]["rejected"]) == (1, 1)
    assert any(isinstance(event, BadLine) for event in told)


def test_a_command_that_is_interrupted_says_so_and_its_jobs_are_listed(
    quiet: Settings, quiet_http: httpx.Client, deployment: Deployment, tmp_path: Path
) -> None:
    collection = f"c{uuid4().hex[:8]}"
    path = tmp_path / "sessions.jsonl"
    path.write_text(json.dumps(session("s1")))
    here = CommandLine(deployment.environment | {"REDIS_URL": quiet.redis_url})
    process = here.begin("ingest", "messages", path, "--collection", collection)
    try:
        assert awaited(quiet_http, collection, lambda batch: batch["accepted"] == 1)["is_open"]
        interrupt(process)
    finally:
        process.kill()
    assert process.returncode == 130
    (batch,) = batches_of(quiet_http, collection)
    assert (batch["is_open"], batch["jobs"]) == (False, {"queued": 1})


def test_a_document_that_fails_in_a_job_of_many_is_not_counted_as_stored(
    quiet: Settings, board: ValkeyBoard, quiet_http: httpx.Client
) -> None:
    collection = f"c{uuid4().hex[:8]}"
    outcomes = (
        IngestedDocument(document="s1", outcome="ingested"),
        IngestedDocument(document="s2", outcome="failed", reason="too heavy"),
        IngestedDocument(document="s3", outcome="unchanged"),
    )

    def of_this(job_id: str) -> bool:
        """Return whether a job is this test's: others have left theirs on the board."""
        return board.picture(job_id).record.collection == collection

    def work() -> None:
        """Be the worker of the one job."""
        ends = time.monotonic() + PATIENCE_S
        while not (jobs := [job_id for job_id in board.recent() if of_this(job_id)]):
            assert time.monotonic() < ends
            time.sleep(0.05)
        result = IngestMessagesResult(
            job_id=jobs[0], collection=collection, total=2, complete=False, documents=outcomes
        )
        assert board.settle(jobs[0], Verdict("done", result=result.model_dump_json(), complete=False))

    with closing(Querymill(settings=quiet)) as mill, ThreadPoolExecutor(1) as beside:
        working = beside.submit(work)
        done = mill.ingest("messages", [session(f"s{number}") for number in (1, 2, 3)], collection=collection)
        working.result(PATIENCE_S)
    assert [lost.reason for lost in done.failed] == ["line 2: too heavy"]
    (batch,) = batches_of(quiet_http, collection)
    assert (batch["accepted"], batch["stored"], batch["failed"]) == (3, 2, 1)
    assert batch["first_failed"] == [{"document": "s2", "reason": "too heavy"}]
    assert "1 could not be stored" in quiet_http.get(f"/console/ingestions/{batch['batch']}").text


@pytest.mark.parametrize("kind", all_at_night(["messages", "reports"], short=["messages"]))
def test_a_command_that_watches_has_one_record(
    http: httpx.Client, worker: WorkerProcess, querymill: CommandLine, tmp_path: Path, kind: str
) -> None:
    collection = f"c{uuid4().hex[:8]}"
    if kind == "messages":
        (tmp_path / "a.jsonl").write_text(f"{json.dumps(session('s1'))}\n")
    else:
        (tmp_path / "a.txt").write_text("nine ships")
    process = querymill.begin("ingest", kind, tmp_path, "--collection", collection, "--watch")
    try:
        awaited(http, collection, lambda batch: batch["stored"] == 1 and not batch["is_open"])
        if kind == "messages":
            with (tmp_path / "a.jsonl").open("a") as file:
                file.write(f"{json.dumps(session('s2'))}\n")
        else:
            (tmp_path / "b.txt").write_text("ten ships")
        awaited(http, collection, lambda batch: batch["stored"] == 2 and not batch["is_open"])
        assert len(batches_of(http, collection)) == 1
        interrupt(process)
    finally:
        process.kill()
