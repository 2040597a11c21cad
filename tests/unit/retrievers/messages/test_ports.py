"""Messages touch nothing of the world but what `MessagePorts` names."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import pytest

from querymill_shared.board import Board
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.grow import GrowSessions, SessionGrowth
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import ForgetSession
from querymill_shared.contracts.messages.load import LoadSessions
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.documents.ports import Documents, ForgetfulCaches, ForgetfulVectors, Samples
from querymill_workers.inference.ports import Embeddings, PreviousModel
from querymill_workers.jobs.bell import Heartbeat
from querymill_workers.ledger.ports import Ledger
from querymill_workers.retrievers.messages.flow import flow_of
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.messages.reindex import reindexed
from querymill_workers.text.calibration import Calibration
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words
from tests.fixtures.chats import session
from tests.fixtures.world import World


@dataclass(frozen=True)
class OnlyMessages:
    """A world that has `MessagePorts` and no more."""

    board: Board
    heartbeat: Heartbeat
    clock: Callable[[], float]
    max_attempts: int
    messages: Messages
    sessions: Sessions
    vectors: Mapping[Retriever, Vectors]
    words: Words
    ledger: Ledger
    fleet_caches: ForgetfulCaches
    samples: Samples
    documents: Mapping[Retriever, Documents]
    text_vectors: ForgetfulVectors
    embeddings: Embeddings
    calibration: Calibration
    previous: PreviousModel | None


@pytest.fixture
def narrow(world: World) -> OnlyMessages:
    return OnlyMessages(**{field.name: getattr(world.ports, field.name) for field in fields(OnlyMessages)})


INGEST = IngestSession(collection="c", session=session("s", "nine ships", "soup"))
REQUESTS: list[JobRequest] = [
    INGEST,
    LoadSessions(collection="c", sessions=(session("s", "nine ships"), session("s2", "soup"))),
    GrowSessions(
        collection="c",
        growths=(SessionGrowth(session_id="s2", after=1, messages=session("s2", "soup", "more soup").messages[1:]),),
    ),
    MessageSearch(collection="c", query="ships"),
    MessageSearch(collection="c", query="ships", hybrid=True, include_context=True),
    ForgetSession(collection="c", session_id="s"),
    ForgetSession(collection="c", session_id="s2"),
]


def test_every_job_of_messages_runs_in_a_world_of_messages_alone(world: World, narrow: OnlyMessages) -> None:
    for request in REQUESTS:
        flow, job_id = flow_of(request), world.submit(request)  # type: ignore[arg-type]
        for step in request.steps:
            claim = world.board.claim(job_id, step)
            assert claim is not None
            flow.step(claim, narrow)
        assert world.board.picture(job_id).record.state == "done", request.kind
    time.sleep(0.003)  # the order of acceptance is known to the millisecond
    world.run(INGEST)
    assert list(reindexed("c", narrow)) == [(1, 1, 4)]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.kind)
def test_a_job_of_messages_at_its_deadline_has_nothing_to_show(
    world: World, narrow: OnlyMessages, request_: JobRequest
) -> None:
    job_id = world.submit(request_)
    flow_of(request_).settle(world.board.picture(job_id), narrow)  # type: ignore[arg-type]
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "its deadline passed")
