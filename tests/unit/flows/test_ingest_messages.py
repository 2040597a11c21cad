from querymill_shared.board import Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.messages import IngestSession, IngestSessionResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.ports import Unavailable
from tests.fixtures.chats import session
from tests.unit.flows.conftest import World

LONG = session("s", *(f"message {n} about subject{n}" for n in range(20)))


def ingest_of(given: ChatSession) -> IngestSession:
    return IngestSession(collection="chats", session=given)


def outcome(world: World, given: ChatSession) -> IngestSessionResult:
    result = world.result(world.run(ingest_of(given)))
    assert isinstance(result, IngestSessionResult)
    return result


def test_every_message_and_its_context_is_embedded_messages_first(world: World) -> None:
    result = outcome(world, LONG)
    assert (result.outcome, result.total, result.embedded) == ("ingested", 40, 40)
    assert all("\n" not in text for text, _ in world.embeddings.asked[:20])
    assert {input_type for _, input_type in world.embeddings.asked} == {"passage"}
    progress = [event.done for _, event in world.board.events(result.job_id) if isinstance(event, Progress)]
    assert progress == [16, 32, 40]
    assert world.board.collections("messages") == {"chats"}


def test_the_same_content_again_embeds_nothing(world: World) -> None:
    outcome(world, LONG)
    world.embeddings.asked.clear()
    again = outcome(world, LONG)
    assert (again.outcome, again.total, world.embeddings.asked) == ("unchanged", 40, [])


def test_a_message_more_embeds_only_what_it_changes(world: World) -> None:
    outcome(world, session("s", "one", "two", "three", "four"))
    world.embeddings.asked.clear()
    result = outcome(world, session("s", "one", "two", "three", "four", "five"))
    assert result.embedded == 4
    assert next(text for text, _ in world.embeddings.asked) == "five"


def test_an_edit_replaces_what_was_there_and_its_words(world: World) -> None:
    outcome(world, session("s", "nine ships", "soup"))
    outcome(world, session("s", "ten boats"))
    assert world.words.search("chats", "messages", "ships soup", most=9) == []
    (hit,) = world.words.search("chats", "messages", "boats", most=9)
    assert hit.scored is not None
    assert hit.scored.statistics.units == 1


def test_another_model_embeds_everything_anew(world: World) -> None:
    outcome(world, session("s", "one", "two"))
    world.embeddings.model = "newer"
    assert outcome(world, session("s", "one", "two")).embedded == 4


def test_unknown_fields_are_kept_as_metadata() -> None:
    given = session("s", "one", topic="boats")
    assert given.model_extra == {"topic": "boats"}


def test_a_killed_ingestion_goes_on_where_it_was(world: World) -> None:
    request, honest, calls = ingest_of(LONG), world.embeddings.embed, 0
    job_id = world.submit(request)

    def dies_at_the_second(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Unavailable("killed")
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = dies_at_the_second  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "ingest")
    assert len(world.embeddings.asked) == 16
    world.ring(job_id, request, "ingest")
    assert len(world.embeddings.asked) == 40
    assert isinstance(world.result(job_id), IngestSessionResult)


def test_a_cancelled_ingestion_stops_embedding(world: World) -> None:
    request, honest = ingest_of(LONG), world.embeddings.embed
    job_id = world.submit(request)

    def cancelled_meanwhile(*args: object, **kwargs: object) -> object:
        world.board.settle(job_id, Verdict("cancelled", reason="cancelled by its caller"))
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = cancelled_meanwhile  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "ingest")
    assert len(world.embeddings.asked) == 16


def test_a_provider_that_stays_away_fails_the_job_and_leaves_the_words(world: World) -> None:
    world.embeddings.fails_with = Unavailable("away")
    request = ingest_of(session("s", "nine ships"))
    job_id = world.submit(request)
    for _ in range(world.ports.max_attempts):
        world.ring(job_id, request, "ingest")
    assert world.board.picture(job_id).record.state == "failed"
    assert [hit.score > 0 for hit in world.words.search("chats", "messages", "ships", most=9)] == [True]
