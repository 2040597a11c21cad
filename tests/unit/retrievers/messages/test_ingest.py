from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.messages.ingest import IngestMessages, IngestMessagesResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.contracts.vectors import EmbedDocumentsResult
from querymill_shared.queues import Queue
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import CallFailed
from tests.fixtures.chats import session
from tests.fixtures.world import World

LONG = session("s", *(f"message {n} about subject{n}" for n in range(20)))


def ingest_of(given: ChatSession) -> IngestMessages:
    return IngestMessages(collection="chats", documents=(given,))


def outcome(world: World, given: ChatSession) -> IngestMessagesResult:
    """Take a session in, and have it embedded."""
    result = world.result(world.run(ingest_of(given)))
    assert isinstance(result, IngestMessagesResult)
    return result


def embedding(world: World, ingested: IngestMessagesResult) -> EmbedDocumentsResult:
    result = world.result(str(ingested.embedding_jobs[0]))
    assert isinstance(result, EmbedDocumentsResult)
    return result


def test_ingestion_ends_with_the_words_and_asks_for_the_vectors(world: World) -> None:
    request = ingest_of(LONG)
    job_id = world.submit(request)
    (bell,) = run_step.run_step(Bell(job_id, "ingest", Queue.INGEST), world.ports)
    result = world.result(job_id)
    assert isinstance(result, IngestMessagesResult)
    assert (result.documents[0].outcome, result.total, world.embeddings.asked) == ("ingested", 40, [])
    assert bell == Bell(str(result.embedding_jobs[0]), "embed", Queue.EMBED)
    best, *_ = world.words.search("chats", "messages", "subject7", limit=9)
    assert world.sessions.texts("chats", "s")[7].text_id == best.id
    assert world.board.collections("messages") == {"chats"}


def test_every_message_and_its_context_is_embedded_messages_first(world: World) -> None:
    result = embedding(world, outcome(world, LONG))
    assert result.total == 40
    assert all("\n" not in text for text, _ in world.embeddings.asked[:20])
    assert {input_type for _, input_type in world.embeddings.asked} == {"passage"}
    progress = [event.done for _, event in world.board.events(result.job_id) if isinstance(event, Progress)]
    assert progress == [16, 32, 40]


def test_a_message_more_embeds_only_what_it_changes(world: World) -> None:
    outcome(world, session("s", "one", "two", "three", "four"))
    world.embeddings.asked.clear()
    assert embedding(world, outcome(world, session("s", "one", "two", "three", "four", "five"))).total == 4
    assert next(text for text, _ in world.embeddings.asked) == "five"


def test_an_edit_replaces_what_was_there_and_its_words(world: World) -> None:
    outcome(world, session("s", "nine ships", "soup"))
    outcome(world, session("s", "ten boats"))
    assert world.words.search("chats", "messages", "ships soup", limit=9) == []
    (hit,) = world.words.search("chats", "messages", "boats", limit=9)
    assert hit.scored is not None
    assert hit.scored.statistics.units == 1


def test_unknown_fields_are_kept_as_metadata() -> None:
    given = session("s", "one", topic="boats")
    assert given.model_extra == {"topic": "boats"}


def ingested_only(world: World, given: ChatSession) -> tuple[str, list[Bell]]:
    """Take a session in, and leave the bell of its embedding; returns the job that is asked for, and its bell."""
    job_id = world.submit(ingest_of(given))
    bells = run_step.run_step(Bell(job_id, "ingest", Queue.INGEST), world.ports)
    result = world.result(job_id)
    assert isinstance(result, IngestMessagesResult)
    return str(result.embedding_jobs[0]), list(bells)


def test_a_live_message_does_not_wait_in_the_lane_of_bulk(world: World) -> None:
    bulk, _ = ingested_only(world, session("s", "one"))
    request = IngestMessages(collection="chats", documents=(session("s", "one", "two"),), lane=Lane.NORMAL)
    live = world.result(world.run(request))
    assert isinstance(live, IngestMessagesResult)
    assert live.embedding_jobs[0] != bulk
    assert world.board.picture(str(live.embedding_jobs[0])).record.lane == "normal"


def test_a_change_while_an_embedding_runs_asks_for_another(world: World) -> None:
    first, bells = ingested_only(world, session("s", "one"))
    honest = world.embeddings.embed
    later: list[tuple[str, list[Bell]]] = []

    def changed_meanwhile(*args: object, **kwargs: object) -> object:
        if not later:
            later.append(ingested_only(world, session("s", "one", "two")))
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = changed_meanwhile  # type: ignore[method-assign, assignment]
    world.answer(*bells)
    ((second, more),) = later
    assert second != first
    world.answer(*more)
    assert world.ports.vectors["messages"].counts("chats", model="words").pending == 0


def test_a_provider_that_keeps_failing_ends_the_embedding_and_the_next_ingestion_asks_again(world: World) -> None:
    world.embeddings.fails_with = CallFailed("broken")
    _, (bell,) = ingested_only(world, session("s", "nine ships"))
    for _ in range(world.ports.max_attempts):
        world.answer(bell)
    assert world.board.picture(bell.job_id).record.state == "dead"
    assert [hit.score > 0 for hit in world.words.search("chats", "messages", "ships", limit=9)] == [True]
    world.embeddings.fails_with = None
    again = outcome(world, session("s", "nine ships"))
    assert again.documents[0].outcome == "unchanged"
    assert embedding(world, again).total == 2
