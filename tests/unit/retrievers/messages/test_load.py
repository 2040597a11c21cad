"""Many sessions in one job: what each becomes, and which jobs make their vectors."""

from querymill_shared.contracts.messages.load import LoadSessions, LoadSessionsResult
from querymill_shared.contracts.vectors import EmbedDocumentsResult
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


def test_one_job_embeds_the_sessions_of_a_load(world: World) -> None:
    result = load(world)
    assert [document.outcome for document in result.documents] == ["ingested", "ingested"]
    (job_id,) = result.embedding_jobs
    embedded = world.result(job_id)
    assert isinstance(embedded, EmbedDocumentsResult)
    assert (embedded.total, embedded.complete) == (4, True)
    assert world.ports.vectors["messages"].counts("chats", model="words").pending == 0
    assert load(world).embedding_jobs == ()


def test_a_load_that_is_tried_again_asks_for_the_same_job(world: World) -> None:
    request = LoadSessions(collection="chats", sessions=(session("s", "ships"), session("t", "ships")))
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "load")
    assert claim is not None
    first = step(claim, request, world.ports)
    assert len(first) == 1
    assert list(step(claim, request, world.ports)) == []
