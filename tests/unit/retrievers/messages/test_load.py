"""Many sessions in one job: what each becomes, and which jobs make their vectors."""

import time

from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import EmbedSessions, EmbedSessionsResult
from querymill_shared.contracts.messages.load import LoadSessions, LoadSessionsResult
from querymill_workers.retrievers.messages.embed import JOB_PASSAGES, parts_of
from querymill_workers.retrievers.messages.load import step
from tests.fixtures.chats import session
from tests.fixtures.world import World


def load(world: World) -> LoadSessionsResult:
    """Load two sessions, and work on the jobs that follow."""
    request = LoadSessions(collection="chats", sessions=(session("s", "ships"), session("t", "ships")))
    job_id = world.submit(request)
    world.ring(job_id, request, "load")
    result = world.result(job_id)
    assert isinstance(result, LoadSessionsResult)
    return result


def test_sessions_are_cut_into_parts_of_a_few_passages() -> None:
    assert JOB_PASSAGES == 256
    assert list(parts_of({"a": 100, "b": 100, "c": 100, "d": 1_000})) == [("a", "b"), ("c",), ("d",)]
    assert list(parts_of({})) == []


def test_one_job_embeds_the_sessions_of_a_load(world: World) -> None:
    result = load(world)
    assert [document.outcome for document in result.documents] == ["ingested", "ingested"]
    (job_id,) = result.embedding_jobs
    embedded = world.result(job_id)
    assert isinstance(embedded, EmbedSessionsResult)
    assert (embedded.total, embedded.complete) == (4, True)
    assert world.sessions.count_pending("chats", ["s", "t"], model="words") == 0
    assert load(world).embedding_jobs == ()


def test_a_later_write_of_one_session_submits_a_job_of_its_own(world: World) -> None:
    """The job of many that waits holds another request: it cannot be asked for under the same key."""
    first = LoadSessions(collection="chats", sessions=(session("s", "ships"), session("t", "ships")))
    claim = world.board.claim(world.submit(first), "load")
    assert claim is not None
    (of_many,) = {bell.job_id for bell in step(claim, first, world.ports)}  # rung for, and not worked on yet
    time.sleep(0.003)  # the order of acceptance is known to the millisecond
    later = IngestSession(collection="chats", session=session("s", "ships", "soup"))
    job_id = world.submit(later)
    world.ring(job_id, later, "ingest")
    of_one = str(world.result(job_id).model_dump()["embedding_job"])
    assert of_one != of_many
    assert world.result(of_one).total == 4
    assert [world.sessions.count_pending("chats", [name], model="words") for name in ("s", "t")] == [0, 2]
    world.ring(of_many, EmbedSessions(collection="chats", session_ids=("s", "t")), "embed")
    assert world.result(of_many).total == 2
    assert world.sessions.count_pending("chats", ["t"], model="words") == 0


def test_a_load_that_is_tried_again_asks_for_the_same_job(world: World) -> None:
    request = LoadSessions(collection="chats", sessions=(session("s", "ships"), session("t", "ships")))
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "load")
    assert claim is not None
    first = step(claim, request, world.ports)
    assert len(first) == 1
    assert list(step(claim, request, world.ports)) == []
