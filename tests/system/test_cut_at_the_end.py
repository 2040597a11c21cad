"""A connection that is lost just as the result of a search is read: the search ends a little later, and complete."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
import redis

from querymill import (
    ConversationSearch,
    FileSearch,
    IngestConversations,
    IngestFiles,
    IngestMessages,
    IngestModules,
    IngestReports,
    MessageSearch,
    ModuleDocument,
    ModuleSearch,
    Querymill,
    ReportSearch,
    SourceFile,
)
from querymill_shared.board.scripts import digest
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.ingest import Report
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fakes.proxy import Network, network
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.short_forms import all_at_night

#: The second attempt comes at once, and further ones after seconds.
SOON_S = 15.0
COLLECTION = f"cut{uuid4().hex[:8]}"
REPORT = Report.model_validate({
    "sha1": "a1", "title": "Nordhav 2022", "company": "Nordhav", "period": "2022",
    "pages": [{"page": 1, "text": "the fleet counts nine ships"}, {"page": 2, "text": "revenue rose to forty million"}],
})  # fmt: skip
MODULE = ModuleDocument.model_validate({
    "faiss_id": 1, "file_path": "1.js", "code": "run()",
    "meta_info": {"vtkjs_modules": ["vtkConeSource"], "description": "an orange cone"},
})  # fmt: skip
FILE = SourceFile(
    path="redis.py", content="class QoS:\n    def restore_unacked(self):\n        return self.put_back()\n"
)


@dataclass
class Ground:
    """A client, a worker behind networks, and the servers' connections as the networks see them."""

    mill: Querymill
    database: psycopg.Connection
    nets: dict[str, Network]

    def end_backend(self, port: int) -> None:
        self.database.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE client_port = %s", [port]
        )


@pytest.fixture(scope="module")
def ground(
    deployment: Deployment, database_url: str, mongodb_uri: str, _openai_server: OpenAIServer
) -> Iterator[Ground]:
    """Every kind holds something, ingested through the networks."""
    # A board of its own, as a worker of another test would not go through the networks.
    board_url = deployment.settings.redis_url.removesuffix("/2") + "/12"
    with redis.Redis.from_url(board_url) as client:
        client.flushdb()
    settings = deployment.settings.model_copy(update={"redis_url": board_url})
    with ExitStack() as opened:
        nets, environment = {}, deployment.environment | {"REDIS_URL": board_url, "MONGODB_URI": mongodb_uri}
        for name in ("DATABASE_URL", "MONGODB_URI", "REDIS_URL"):
            address = urlsplit(environment[name])
            assert address.port is not None
            nets[name] = net = opened.enter_context(network(address.hostname or "127.0.0.1", address.port))
            login = "".join(address.netloc.rpartition("@")[:2])
            environment[name] = address._replace(netloc=f"{login}127.0.0.1:{net.port}").geturl()
        mill = opened.enter_context(Querymill(settings=settings))
        database = opened.enter_context(psycopg.connect(database_url, autocommit=True))
        worker = opened.enter_context(WorkerProcess(environment, threads=8, name="cut"))
        finished(mill, IngestReports(collection=COLLECTION, documents=(REPORT,)))
        for request in (
            IngestModules(collection=COLLECTION, documents=(MODULE,)),
            IngestMessages(
                collection=COLLECTION, documents=(session("s", "the fleet counts nine ships", "soup for lunch"),)
            ),
            IngestConversations(collection=COLLECTION, documents=(session("s", "the fleet counts nine ships"),)),
            IngestFiles(collection=COLLECTION, documents=(FILE,)),
        ):
            finished(mill, request)
        yield Ground(mill, database, nets)
        print(worker.log[-6000:])  # shown if a test fails


@pytest.fixture(autouse=True)
def chat(openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda request: chat_answer(f"<{uuid4().hex} ships>")


def fresh(words: str) -> str:
    """Return a question that nobody asked before."""
    return f"{words} {uuid4().hex}"


CASES: dict[str, tuple[str, bytes, Callable[[], JobRequest]]] = {
    "reports": (
        "DATABASE_URL", b"SELECT passage.sha1, passage.number, passage.page, passage.text",
        lambda: ReportSearch(query=fresh("revenue rose"), collection=COLLECTION),
    ),
    "pages of reports": (
        "DATABASE_URL", b"FROM report_pages AS page\nJOIN unnest",
        lambda: ReportSearch(query=fresh("revenue rose"), collection=COLLECTION, return_parent_pages=True),
    ),
    "reports of two branches": (
        "DATABASE_URL", b"SELECT passage.sha1, passage.number, passage.page, passage.text",
        lambda: ReportSearch(query=fresh("revenue rose"), collection=COLLECTION, multi_query=("variant",)),
    ),
    "modules": (
        "MONGODB_URI", b"\x02find\x00\x0d\x00\x00\x00module_codes\x00",
        lambda: ModuleSearch(query=fresh("vtkConeSource"), collection=COLLECTION, channels=("modules",)),
    ),
    "messages": (
        "DATABASE_URL", b"SELECT DISTINCT ON (coalesce(p.text_id, p.vector_id))",
        lambda: MessageSearch(query=fresh("nine ships"), collection=COLLECTION),
    ),
    "conversations": (
        "DATABASE_URL", b"SELECT c.session_id, c.document, c.whole, c.said",
        lambda: ConversationSearch(query=fresh("nine ships"), collection=COLLECTION),
    ),
    "files": (
        "DATABASE_URL", b"qualifier, times FROM code_symbols",
        lambda: FileSearch(query=fresh("restore unacked"), collection=COLLECTION, mode="oneshot"),
    ),
}  # fmt: skip
#: An evaluation reads the symbols of files before the result does.
SPARED = {"files": 1}


def ended(ground: Ground, request: JobRequest) -> float:
    """Run a search to its end, which must be complete. Return how long it took, in seconds."""
    begun = time.monotonic()
    result: Any = ground.mill.submit(request).result(timeout=40)
    assert (result.degraded, result.complete) == ((), True)
    assert result.results
    return time.monotonic() - begun


@pytest.mark.parametrize(
    ("times", "name"), all_at_night([*product((1, 3), CASES)], short=[(1, "modules"), (3, "messages")])
)
def test_a_connection_that_is_cut_as_the_result_is_read_costs_no_search(ground: Ground, name: str, times: int) -> None:
    server, needle, request = CASES[name]
    # The driver of MongoDB reads once more by itself.
    times = 2 * times if server == "MONGODB_URI" else times
    trap = ground.nets[server].lay(needle, times=times, spared=SPARED.get(name, 0))
    assert ended(ground, request()) < SOON_S
    assert trap.left == 0


@pytest.mark.parametrize(
    "name",
    all_at_night(
        [name for name, (server, *_) in CASES.items() if server == "DATABASE_URL"], short=["reports", "messages"]
    ),
)
def test_a_backend_that_is_ended_as_the_result_is_read_costs_no_search(ground: Ground, name: str) -> None:
    server, needle, request = CASES[name]
    trap = ground.nets[server].lay(needle, times=2, act=ground.end_backend, spared=SPARED.get(name, 0))
    assert ended(ground, request()) < SOON_S
    assert trap.left == 0


@pytest.mark.parametrize("name", all_at_night(CASES, short=["modules", "reports"]))
@pytest.mark.parametrize("script", ["finish", "settle"])
def test_a_connection_to_the_board_that_is_cut_as_the_search_ends_costs_no_search(
    ground: Ground, name: str, script: str
) -> None:
    ground.nets["REDIS_URL"].lay(digest(script).encode(), times=1)
    assert ended(ground, CASES[name][2]()) < SOON_S
