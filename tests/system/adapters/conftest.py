"""What the adapters search: the filings of the workers' own stack, and a mill in memory with every kind."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import redis

from querymill import (
    ChatSession,
    IngestConversations,
    IngestFiles,
    IngestMessages,
    IngestModules,
    IngestReports,
    Job,
    ModuleDocument,
    Report,
    Settings,
    SourceFile,
)
from querymill.testing import MemoryMill
from querymill_shared.board import ValkeyBoard
from tests.fixtures.deployment import Deployment

# Read when Haystack is imported: it would report the use of its components, and configure logging for all.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
os.environ["HAYSTACK_LOGGING_IGNORE_STRUCTLOG"] = "true"

PAGES = ["the fleet counts nine ships", "revenue rose to forty million"]
SOURCE = "import os\n\n\ndef restore_messages(channel):\n    return channel.restore()\n"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def idle(deployment: Deployment) -> Iterator[Settings]:
    """A board that knows the collection `own` and has no workers: jobs wait."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/7"
    settings = deployment.settings.model_copy(update={"redis_url": url})
    with redis.Redis.from_url(url) as server, closing(ValkeyBoard.connect(settings)) as board:
        board.announce("reports", ["own"])
        yield settings
        server.flushdb()


@pytest.fixture(scope="module")
def memory() -> Iterator[MemoryMill]:
    """A collection `own` with a document of every kind."""
    with MemoryMill() as mill:
        pages = [{"page": number, "text": text} for number, text in enumerate(PAGES, start=1)]
        report = Report.model_validate(
            {"sha1": "a1", "title": "Nordhav 2022", "company": "Nordhav", "region": "north", "pages": pages}
        )
        module = ModuleDocument.model_validate(
            {"file_path": "cone.js", "code": "run()", "meta_info": {"vtkjs_modules": ["vtk.Sources.vtkConeSource"]}}
        )
        session = ChatSession.model_validate(
            {
                "session_id": "s1",
                "started_at": "2026-03-01T09:00:00Z",
                "messages": [{"message_id": "m1", "role": "user", "text": "rain in Bergen"}],
            }
        )
        jobs: list[Job[Any]] = [
            mill.submit(IngestReports(collection="own", documents=(report,))),
            mill.submit(IngestModules(collection="own", documents=(module,))),
            mill.submit(IngestMessages(collection="own", documents=(session,))),
            mill.submit(IngestConversations(collection="own", documents=(session,))),
            mill.submit(IngestFiles(collection="own", documents=(SourceFile(path="src/restore.py", content=SOURCE),))),
        ]
        for job in jobs:
            job.result(timeout=60)
        yield mill
