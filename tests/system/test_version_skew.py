"""This release and the one before, side by side on one board: every job ends once, whoever asks and whoever works."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import redis

from querymill import (
    AnswerQuestion,
    ConversationSearch,
    EmbedTexts,
    FileSearch,
    IngestConversations,
    IngestFiles,
    IngestMessages,
    IngestModules,
    IngestReports,
    Job,
    MessageSearch,
    ModuleDocument,
    ModuleSearch,
    Querymill,
    Report,
    ReportSearch,
    Rerank,
    Settings,
    SourceFile,
)  # fmt: skip
from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.contracts.answer import AnswerHit
from querymill_shared.contracts.embed import TextToEmbed
from querymill_shared.contracts.events import Done
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.rerank import RerankCandidate
from tests.fakes import former_client, former_reader
from tests.fakes.judging import judging, passages_of
from tests.fakes.openai_server import Answer, OpenAIServer, chat_stream, reworded
from tests.fakes.worker import WorkerProcess
from tests.fixtures import wire, wire_board
from tests.fixtures.chats import session
from tests.fixtures.deployment import Deployment
from tests.fixtures.releases import QUIET, FormerRelease


@dataclass
class Fleet:
    """A board of its own, and the workers and clients of both releases around it."""

    environment: dict[str, str]
    former: dict[str, str]
    running: ExitStack
    settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = Settings.model_validate({name.lower(): value for name, value in self.environment.items()})

    def worker(self) -> WorkerProcess:
        return self.running.enter_context(WorkerProcess(self.environment, threads=8))

    def former_worker(self) -> WorkerProcess:
        environment = self.environment | self.former
        return self.running.enter_context(WorkerProcess(environment, threads=8, options=QUIET))

    def mill(self) -> Querymill:
        return self.running.enter_context(Querymill(settings=self.settings))

    def former_client(self, requests: Sequence[JobRequest]) -> "FormerClient":
        return FormerClient(self.environment | self.former, requests)


class FormerClient:
    """A client of the last release, in a process of its own, that submits requests and waits for their results."""

    def __init__(self, environment: dict[str, str], requests: Sequence[JobRequest]) -> None:
        self._asked = len(requests)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(former_client.__file__))], env={"PATH": "", **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{request.model_dump_json()}\n" for request in requests))
        self._process.stdin.close()
        self._process.stdin = None

    def results(self) -> list[dict[str, Any]]:
        out, err = self._process.communicate(timeout=180)
        lines = [json.loads(line) for line in out.splitlines()]
        assert len(lines) == 2 * self._asked, err[-2000:]
        return lines[self._asked :]


def scripted(request: dict[str, Any]) -> Answer:
    """A chat model that answers, judges passages and rewords."""
    if request.get("stream"):
        return chat_stream("Nine ships ", "[1].")
    return judging(lambda _: 0.5)(request) if passages_of(request) else reworded(request)


@pytest.fixture
def fleet(deployment: Deployment, former_release: FormerRelease, openai_server: OpenAIServer) -> Iterator[Fleet]:
    openai_server.script.chat = scripted
    environment = deployment.environment | {"REDIS_URL": deployment.settings.redis_url.removesuffix("/2") + "/4"}
    with redis.Redis.from_url(environment["REDIS_URL"]) as client:
        client.flushdb()
    with ExitStack() as running:
        yield Fleet(environment, former_release.environment, running)


def report(name: str) -> Report:
    pages = [{"page": number, "text": f"{name} counts {number} ships"} for number in (1, 2, 3)]
    return Report.model_validate({"sha1": name, "title": name, "company": f"{name} Shipping", "pages": pages})


def stored(collection: str) -> list[JobRequest]:
    """One of each kind that makes a collection known."""
    file = SourceFile(path="a.py", content="def restore_ships():\n    return 1\n")
    module = {"faiss_id": 1, "file_path": "1.js", "code": "run(1)", "meta_info": {"vtkjs_modules": ["vtkConeSource"]}}
    return [
        IngestReports(collection=collection, documents=(report("base"),)),
        IngestMessages(collection=collection, documents=(session("base", "how many ships", "nine ships"),)),
        IngestConversations(collection=collection, documents=(session("base", "how many ships", "nine ships"),)),
        IngestFiles(collection=collection, documents=(file,)),
        IngestModules(collection=collection, documents=(ModuleDocument.model_validate(module),)),
    ]


def mixed(collection: str, run: str) -> list[JobRequest]:
    """Ten jobs: three that store something, and one of each search and service."""
    hit = {"id": "1", "text": "the fleet counts nine ships", "score": 0.5}
    return [
        IngestReports(collection=collection, documents=(report(f"r{run}"),)),
        IngestMessages(collection=collection, documents=(session(f"s{run}", f"ships of {run}", "and boats"),)),
        EmbedTexts(collection=collection, texts=(TextToEmbed(id=run, text=f"text {run}"),), into="table"),
        ReportSearch(collection=collection, query=f"how many ships {run}", hyde=True),
        MessageSearch(collection=collection, query=f"ships {run}", similarity_threshold=None),
        ConversationSearch(collection=collection, query="ships"),
        FileSearch(collection=collection, query="restore ships"),
        ModuleSearch(collection=collection, query="render vtkConeSource", channels=("modules",)),
        Rerank(collection=collection, query="ships", hits=(RerankCandidate.model_validate(hit),)),
        AnswerQuestion(collection=collection, query="how many ships", hits=(AnswerHit.model_validate(hit),)),
    ]  # fmt: skip


def done_by(mill: Querymill, requests: Sequence[JobRequest]) -> list[Any]:
    """Submit all, then wait for all. Return the results."""
    jobs: list[Any] = [mill.submit(request) for request in requests]
    results = [job.result(timeout=90) for job in jobs]
    assert [[type(event) for event in job.events(timeout=5)].count(Done) for job in jobs] == [1] * len(jobs)
    return results


def lacks(result: dict[str, Any]) -> list[Any]:
    """What a result lacks, except vectors of rows that jobs of their own are embedding."""
    pending = ("yet", "pending")
    return [part for part in result["degraded"] if part["stage"] != "embed" or not part["reason"].endswith(pending)]


def new_collection() -> str:
    return f"skew{uuid4().hex[:8]}"


@pytest.mark.nightly
@pytest.mark.parametrize("moment", wire_board.moments(wire.read(wire.NOW, "board")))
def test_the_former_release_reads_what_this_one_writes(
    former_release: FormerRelease, valkey_url: str, moment: str
) -> None:
    with redis.Redis.from_url(valkey_url, decode_responses=True) as client:
        client.flushdb()
        wire_board.load(client, wire_board.at(wire.read(wire.NOW, "board"), moment), wire_board.JOB_ID)
    read = subprocess.run(
        [sys.executable, str(Path(former_reader.__file__)), str(wire.GOLDEN / wire.NOW), wire_board.JOB_ID],
        env={"PATH": "", "REDIS_URL": valkey_url, **former_release.environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert read.stdout == ""


@pytest.mark.nightly  # by day: a former client, below
def test_a_new_client_is_served_by_a_former_worker(fleet: Fleet) -> None:
    fleet.former_worker()
    mill, collection = fleet.mill(), new_collection()
    done_by(mill, stored(collection))
    results = done_by(mill, mixed(collection, "1"))
    assert [lost for result in results if (lost := lacks(result.model_dump()))] == []


def test_a_former_client_is_served_by_a_new_worker(fleet: Fleet) -> None:
    fleet.worker()
    collection = new_collection()
    for requests in (stored(collection), mixed(collection, "1")):
        lines = fleet.former_client(requests).results()
        assert [line for line in lines if "error" in line or line["done"] != 1 or lacks(line["result"])] == []


@pytest.mark.nightly
def test_a_mixed_fleet_under_kills_loses_no_job_and_does_none_twice(fleet: Fleet, database: psycopg.Connection) -> None:
    ours, theirs, mill, collection = fleet.worker(), fleet.former_worker(), fleet.mill(), new_collection()
    done_by(mill, stored(collection))
    former = fleet.former_client([request for run in range(5) for request in mixed(collection, f"f{run}")])
    killing = threading.Thread(target=kill_in_turn, args=(ours, theirs))
    killing.start()
    results = done_by(mill, [request for run in range(5) for request in mixed(collection, f"n{run}")])
    lines = former.results()
    killing.join()
    assert [line for line in lines if "error" in line or line["done"] != 1] == []
    assert len(results) == len(lines) == 50
    until_all_jobs_are_over(fleet)
    counted = {
        table: database.execute(f"SELECT count(*) FROM {table} WHERE collection = %s", [collection]).fetchone()
        for table in ("report_pages", "report_passages", "chat_messages", "text_vectors")
    }
    reports, sessions = 11, 11
    assert counted == {
        "report_pages": (3 * reports,), "report_passages": (3 * reports,), "chat_messages": (2 * sessions,),
        "text_vectors": (10,),
    }  # fmt: skip


def kill_in_turn(*workers: WorkerProcess) -> None:
    """Kill each once, in the middle, and start it again."""
    for worker in workers:
        time.sleep(1.0)
        worker.kill()
        worker.start()


def until_all_jobs_are_over(fleet: Fleet) -> None:
    """Wait for the jobs that other jobs submitted too."""
    board = ValkeyBoard.connect(fleet.settings)
    fleet.running.callback(board.close)
    until = time.monotonic() + 90
    while open_ := [job_id for job_id in board.recent(limit=1000) if not board.picture(job_id).record.is_over]:
        assert time.monotonic() < until, [board.picture(job_id) for job_id in open_]
        time.sleep(0.2)
    records = [board.picture(job_id).record for job_id in board.recent(limit=1000)]
    assert [record for record in records if record.state != "done"] == []


def submit_from_the_future(fleet: Fleet, request: JobRequest, **changes: Any) -> str:
    """Put a job on the board as a producer of a newer release would, and leave it to the sweeper to ring."""
    with (
        closing(ValkeyBoard.connect(fleet.settings)) as board,
        redis.Redis.from_url(fleet.settings.redis_url, decode_responses=True) as client,
    ):
        job_id, _ = board.submit(request)
        (key,) = keys.of_job(job_id, "request")
        client.set(key, json.dumps(request.model_dump(mode="json") | changes))
    return job_id


@pytest.mark.nightly
def test_a_request_with_a_new_field_is_done_by_this_release_beside_a_former_worker(fleet: Fleet) -> None:
    mill, collection = fleet.mill(), new_collection()
    fleet.worker()
    fleet.former_worker()
    done_by(mill, stored(collection))
    search = ReportSearch(collection=collection, query="how many ships", deadline=100)
    job_id = submit_from_the_future(fleet, search, boost=2)
    assert lacks(mill.job(job_id).result(timeout=100).model_dump()) == []


@pytest.mark.nightly
@pytest.mark.timeout(420)  # two workers start one after the other, and a ring may be a minute away
def test_a_version_that_this_release_does_not_know_is_left_unused_to_a_worker_that_joins(fleet: Fleet) -> None:
    mill, collection = fleet.mill(), new_collection()
    ours = fleet.worker()
    done_by(mill, stored(collection))
    search = ReportSearch(collection=collection, query="how many ships", deadline=280)
    ingestion = IngestReports(collection=collection, documents=(report("late"),))
    jobs = [mill.job(submit_from_the_future(fleet, request, version=99)) for request in (search, ingestion)]
    time.sleep(4)
    for job in jobs:
        assert len(events_of(fleet, job.id)) <= 40  # it is in no hurry
        until_left_unused(fleet, job)
    fleet.running.enter_context(
        WorkerProcess(fleet.environment, threads=8, name="newer", app="tests.fakes.newer_worker")
    )
    # The waits have doubled up to now. Whoever hears of the step takes it, and the next ring may be a minute away.
    ours.terminate()
    assert [lacks(job.result(timeout=150).model_dump()) for job in jobs] == [[], []]


def until_left_unused(fleet: Fleet, job: Job[Any]) -> None:
    """Wait until the only step of a job was rung and left at least three times, and waits again without an attempt."""
    until = time.monotonic() + 60
    while True:
        (step,), events = job.picture().steps, events_of(fleet, job.id)
        is_left = step.state == "waiting" and "a worker cannot read its request" in step.reason
        if is_left and step.attempt == 0 and len(events) >= 3:
            return
        assert time.monotonic() < until, (step, events)
        time.sleep(0.05)


def events_of(fleet: Fleet, job_id: str) -> list[Any]:
    with closing(ValkeyBoard.connect(fleet.settings)) as board:
        return board.events(job_id)
