"""What a worker logs of the jobs it runs: one line for each that ends, one for each step that fails, nobody's text."""

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from querymill import FileSearch, IngestFiles, IngestReports, JobFailed, Querymill, Report, ReportSearch, SourceFile
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, embedding_after

#: Stands in every question, passage, pattern and provider's answer of these tests.
TEXT = "zebrawaltz"


class Log:
    """The lines that a worker has written since the test began."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker
        self._begun = len(worker.log)

    @property
    def text(self) -> str:
        return self._worker.log[self._begun :]

    def lines(self, event: str, job_id: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.text.splitlines() if job_id in line]
        return [line for line in found if line["event"] == event]

    def wait_for(self, event: str, job_id: str) -> list[dict[str, Any]]:
        until = time.monotonic() + 10
        while not (lines := self.lines(event, job_id)) and time.monotonic() < until:
            time.sleep(0.05)
        return lines


@pytest.fixture
def log(worker: WorkerProcess, filings: str) -> Log:
    return Log(worker)


def test_a_job_that_is_done_is_one_line_with_its_figures(log: Log, mill: Querymill, filings: str) -> None:
    job = mill.submit(ReportSearch(query=f"how many ships {TEXT}", collection=filings))
    job.result(timeout=20)
    (line,) = log.wait_for("job ended", job.id)
    assert (line["level"], line["kind"], line["collection"], line["state"]) == ("info", "reports", filings, "done")
    assert (line["steps"], line["degraded"]) == (1, 0)
    assert line["ms"] >= 0
    assert TEXT not in log.text


def test_a_step_that_fails_is_a_line_and_its_job_is_degraded(
    log: Log, mill: Querymill, filings: str, openai_server: OpenAIServer
) -> None:
    refusal = json.dumps({"error": {"message": f"no {TEXT}", "type": "invalid_request_error"}}).encode()
    openai_server.script.chat = lambda _: Answer(refusal, status=400)
    job = mill.submit(ReportSearch(query=f"how many ships {TEXT}", collection=filings, hyde=True))
    assert not job.result(timeout=20).complete
    (ended,) = log.wait_for("job ended", job.id)
    assert (ended["state"], ended["steps"], ended["degraded"]) == ("done", 2, 1)
    (failed,) = log.lines("step failed", job.id)
    assert (failed["level"], failed["step"], failed["attempt"]) == ("info", "hyde", 1)
    assert failed["fault"].startswith("BadRequestError > ")
    assert TEXT not in log.text


def test_an_ingestion_that_fails_leaves_no_text_in_the_log(
    log: Log, mill: Querymill, openai_server: OpenAIServer
) -> None:
    refusal = json.dumps({"error": {"message": f"cannot embed {TEXT}", "type": "invalid_request_error"}}).encode()
    openai_server.script.embeddings = lambda _: Answer(refusal, status=400)
    page = {"page": 1, "text": f"a {TEXT} {time.monotonic_ns()}"}
    report = Report.model_validate({"sha1": "z1", "title": TEXT, "company": TEXT, "pages": [page]})
    request = IngestReports(collection="log-filings", documents=(report,))
    job = embedding_after(mill, mill.submit(request))
    with pytest.raises(JobFailed):
        job.result(timeout=30)
    (ended,) = log.wait_for("job ended", job.id)
    assert ended["state"] in ("failed", "dead")
    assert {line["step"] for line in log.lines("step failed", job.id)} == {"embed"}
    assert TEXT not in log.text


def test_a_pattern_that_does_not_compile_is_not_in_the_log(log: Log, mill: Querymill) -> None:
    source = SourceFile(path="a.py", content=f"{TEXT} = 1")
    mill.submit(IngestFiles(collection="log-code", documents=(source,))).result(timeout=30)
    job = mill.submit(FileSearch(query=TEXT, collection="log-code", patterns=(f"{TEXT}(",), deadline=10))
    with pytest.raises(JobFailed, match=TEXT):
        job.result(timeout=30)
    (ended,) = log.wait_for("job ended", job.id)
    assert (ended["kind"], ended["state"]) == ("files", "refused")
    assert TEXT not in log.text


def test_every_line_of_a_worker_is_json_from_the_first_to_the_last(deployment: Deployment) -> None:
    with WorkerProcess(deployment.environment, threads=1, name="lines") as worker:
        assert worker.process is not None
        worker.process.terminate()
        worker.process.wait(timeout=60)
        lines = [json.loads(line) for line in worker.log.splitlines()]
    events = [line["event"] for line in lines]
    assert "worker ready" in events
    assert "worker: Warm shutdown (MainProcess)" in events
    assert all(line["timestamp"] and line["level"] for line in lines)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"QUERYMILL_LEASE_S": "HUNTER"}, "querymill_lease_s"),
        pytest.param({"REDIS_URL": "amqp://x:HUNTER@h"}, "redis_url", marks=pytest.mark.nightly),
    ],
)
def test_a_worker_that_refuses_its_settings_says_so_in_one_line(wrong: dict[str, str], named: str) -> None:
    command = [sys.executable, "-P", "-m", "querymill_workers", "worker"]
    run = subprocess.run(command, env=os.environ | wrong, capture_output=True, text=True, timeout=60, check=False)
    (line,) = [json.loads(line) for line in run.stderr.splitlines()]
    assert (run.returncode, run.stdout, line["level"]) == (os.EX_CONFIG, "", "error")
    assert named in line["reason"]
    assert "HUNTER" not in run.stderr
