"""The flows of each retriever need nothing of the world but what its ports name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.files.ingest import CompareFiles, IngestFiles, SourceFile
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.ingest import Extend, SessionExtension
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.ingest import IngestModules, ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.ingest import IngestReports, Report
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.retrievers.conversations import flow as conversations
from querymill_workers.retrievers.conversations.ports import ConversationPorts, RankPorts
from querymill_workers.retrievers.conversations.ranks.daily import rebuilds_due
from querymill_workers.retrievers.files import flow as files
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.reindex import reindexed as files_reindexed
from querymill_workers.retrievers.messages import flow as messages
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.reindex import reindexed as messages_reindexed
from querymill_workers.retrievers.modules import flow as modules
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.reindex import reindexed as modules_reindexed
from querymill_workers.retrievers.reports import flow as reports
from querymill_workers.retrievers.reports.ports import ReportPorts
from tests.fakes.narrow import narrowed
from tests.fixtures.chats import session
from tests.fixtures.world import World, example

SOURCE = SourceFile(path="a.py", content="def restore_unacked(): pass\n")
REPORT = {"sha1": "a", "title": "A", "company": "A", "pages": [{"page": 1, "text": "nine ships"}]}
GROWN = session("s2", "soup", "more soup").messages[1:]
GROWTH = SessionExtension(session_id="s2", after=1, messages=GROWN)
UPDATE = {"session_id": "s", "messages": [{"message_id": "b", "text": "soup"}]}


@dataclass(frozen=True)
class Flat:
    """A retriever: its flows, what they may touch, jobs of each kind in an order in which they find something."""

    flow_of: Callable[[Any], Any]
    ports: type
    requests: Sequence[JobRequest]
    reindexed: Callable[[str, Any], Iterable[object]] | None = None


FLATS = {
    "conversations": Flat(conversations.flow_of, ConversationPorts, (
        IngestConversations(collection="c", documents=(session("s", "ships"),)),
        Extend.model_validate({"collection": "c", "retriever": "conversations", "documents": [UPDATE]}),
        ConversationSearch(collection="c", query="ships", why_not="s"),
        RecomputeRanks(collection="c", scope="changed"),
        RecomputeRanks(collection="c", scope="all", mode="pagerank"),
        RankList(collection="c"),
    )),
    "files": Flat(files.flow_of, FilePorts, (
        IngestFiles(collection="c", documents=(SOURCE,), vectors=True),
        CompareFiles(collection="c", files={"a.py": SOURCE.sha256}, remove=True),
        FileSearch(collection="c", query="restore", evaluator="judge", channels=("words", "vectors")),
    ), files_reindexed),
    "messages": Flat(messages.flow_of, MessagePorts, (
        IngestMessages(collection="c", documents=(session("s", "nine ships", "soup"),)),
        IngestMessages(collection="c", documents=(session("s1", "nine ships"), session("s2", "soup"))),
        Extend(collection="c", retriever="messages", documents=(GROWTH,)),
        MessageSearch(collection="c", query="ships"),
        MessageSearch(collection="c", query="ships", hybrid=True, include_context=True),
    ), messages_reindexed),
    "modules": Flat(modules.flow_of, ModulePorts, (
        *(IngestModules(collection="c", documents=(ModuleDocument.model_validate(
            example(number, "vtkPlane", "vtkActor", description="Cut by a plane")),)) for number in range(6)),
        LearnLexicon(collection="c"),
        ModuleSearch(collection="c", query="cut it open", split=True, prompt_tokens=4_000),
    ), modules_reindexed),
    "reports": Flat(reports.flow_of, ReportPorts, (
        IngestReports(collection="c", documents=(Report.model_validate(REPORT),)),
        ReportSearch(collection="c", query="ships", hyde=True, multi_query=("synonym",), answer=True, judge=True),
    )),
}  # fmt: skip
each_flat = pytest.mark.parametrize("flat", FLATS.values(), ids=FLATS)


@pytest.fixture(autouse=True)
def replies(world: World) -> None:
    world.rewriter.replies = {"parts": "<9: a vtkPlane>", "hyde": "| forty | million |", "synonym": "<turnover>"}


@each_flat
def test_every_job_is_done_with_the_ports_of_its_retriever_alone(world: World, flat: Flat) -> None:
    ports = narrowed(world.ports, flat.ports)
    for request in flat.requests:
        job_id, steps = world.submit(request), list(request.steps)
        while steps:
            claim = world.board.claim(job_id, steps.pop(0))
            assert claim is not None
            steps += [bell.step for bell in flat.flow_of(request).step(claim, ports) if bell.job_id == job_id]
        assert world.board.picture(job_id).record.state == "done", request.kind
    assert flat.reindexed is None or list(flat.reindexed("c", ports))


@each_flat
def test_every_job_ends_at_its_deadline_with_the_ports_of_its_retriever_alone(world: World, flat: Flat) -> None:
    ports = narrowed(world.ports, flat.ports)
    world.run(flat.requests[0])
    for request, has_begun in product(flat.requests, (False, True)):
        job_id = world.submit(request)
        if has_begun and len(request.steps) > 1:
            world.ring(job_id, request, request.steps[0])
        flat.flow_of(request).settle(world.board.picture(job_id), ports)
        assert world.board.picture(job_id).record.is_over, request.kind


def test_asking_for_rebuilds_needs_the_ranks_and_the_board_alone(world: World) -> None:
    world.run(IngestConversations(collection="c", documents=(session("s", "ships"),)))
    ports = narrowed(world.ports, RankPorts)
    assert rebuilds_due(ports, datetime(2020, 1, 1, tzinfo=UTC)) == []
    (first, _) = rebuilds_due(ports, datetime(9999, 1, 1, tzinfo=UTC))
    assert first.step == "part-0"
