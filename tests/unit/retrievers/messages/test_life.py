import numpy as np
import pytest

from querymill_shared.board import Outcome
from querymill_shared.contracts.documents import DropDocuments, DropResult
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.contracts.vectors import PARTS, Reembed, ReembedResult
from querymill_workers.dispatch import run_step
from querymill_workers.inference.ports import InputType, PreviousModel, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import CallFailed, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.calibration import IDENTITY, Calibration
from tests.fakes.models import WordEmbeddings
from tests.fixtures.chats import session
from tests.fixtures.world import World


class Mirrored(WordEmbeddings):
    """Another model: the same words, in the other direction."""

    def embed(self, texts: list[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:  # type: ignore[override]
        vectors, usage = super().embed(texts, input_type=input_type, caller=caller)
        return -np.flip(vectors, axis=1), usage


def take_in(world: World, *sessions: ChatSession, collection: str = "chats") -> None:
    for given in sessions:
        world.result(world.run(IngestMessages(collection=collection, documents=(given,))))


def search(world: World, query: str, **fields: object) -> MessageResult:
    request = MessageSearch.model_validate(
        {"collection": "chats", "query": query, "ranking": "vectors", "similarity_threshold": 0.9} | fields
    )
    result = world.result(world.run(request))
    assert isinstance(result, MessageResult)
    return result


def change_model(world: World, *, keep_previous: bool = True) -> tuple[WordEmbeddings, Mirrored]:
    """Give the workers another embedding model; the one before may be asked still."""
    before, after = world.embeddings, Mirrored("mirrored")
    previous = PreviousModel(before, Calibration(((0.0, 0.0), (1.0, 0.95)))) if keep_previous else None
    world.with_ports(embeddings=after, previous=previous)
    return before, after


def reembed(world: World, model: str = "mirrored") -> str:
    return world.run(Reembed(collection="chats", retriever="messages", model=model))


def test_while_the_new_vectors_are_made_the_model_before_answers(world: World) -> None:
    take_in(world, *[session(f"s{number}", f"ship number{number}", "soup") for number in range(6)])
    before, _ = change_model(world)
    before.asked.clear()
    request = Reembed(collection="chats", retriever="messages", model="mirrored")
    job_id = world.submit(request)
    for part in range(PARTS):
        found = search(world, "ship number3")
        assert (found.mode, found.results[0].session_id, found.skipped) == ("vector", "s3", 0)
        assert found.results[0].similarity == pytest.approx(0.95)  # by the calibration of the model before
        world.ring(job_id, request, f"part-{part}")
    assert {input_type for _, input_type in before.asked} == {"query"}
    result = world.result(job_id)
    assert isinstance(result, ReembedResult)
    assert (result.total, result.model) == (24, "mirrored")
    asked = len(before.asked)
    found = search(world, "ship number3")
    assert (found.mode, found.results[0].session_id) == ("vector", "s3")
    assert found.results[0].similarity == pytest.approx(1)
    assert len(before.asked) == asked
    assert world.ports.vectors["messages"].counts("chats", model="words").pending == 24


def test_without_the_model_before_the_words_answer_and_say_why_until_the_switch(world: World) -> None:
    take_in(world, session("s", "nine ships", "soup"))
    change_model(world, keep_previous=False)
    found = search(world, "which ships")
    assert (found.mode, found.results[0].message_id, found.complete) == ("text", "a", False)
    assert found.why is not None
    assert "vectors come from words but the workers embed by mirrored" in found.why
    take_in(world, session("t", "a heron"))
    assert [hit.session_id for hit in search(world, "which heron").results] == ["t"]
    reembed(world)
    assert search(world, "nine ships").mode == "vector"
    assert search(world, "a heron").results[0].found_by == ("vector",)


def test_a_model_that_keeps_failing_leaves_the_one_before_in_force(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    _, after = change_model(world)
    after.fails_with = CallFailed("broken")
    request = Reembed(collection="chats", retriever="messages", model="mirrored")
    job_id = world.submit(request)
    for step in request.steps * world.ports.max_attempts:
        world.ring(job_id, request, step)
    assert world.board.picture(job_id).record.state == "dead"
    assert search(world, "nine ships").mode == "vector"
    after.fails_with = None
    assert isinstance(world.result(reembed(world)), ReembedResult)


def test_a_search_that_the_switch_overtook_asks_the_new_model(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    before, _ = change_model(world)
    honest = before.embed

    def switched_meanwhile(*args: object, **kwargs: object) -> object:
        reembed(world)
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    before.embed = switched_meanwhile  # type: ignore[method-assign, assignment]
    found = search(world, "nine ships")
    assert found.mode == "vector"
    assert found.results[0].similarity == pytest.approx(1)


def give_up(world: World, job_id: str, step: str) -> None:
    """Let the workers of a step die until it is given up."""
    claim = world.board.claim(job_id, step)
    assert claim is not None
    world.board.finish(claim, Outcome(state="failed", reason="its workers died", notes={"dead": True}))
    picture = world.board.picture(job_id)
    run_step.conclude(picture, world.ports)


def test_a_part_whose_workers_kept_dying_makes_the_job_dead_and_switches_nothing(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    change_model(world)
    request = Reembed(collection="chats", retriever="messages", model="mirrored")
    job_id = world.submit(request)
    give_up(world, job_id, request.steps[0])
    for step in request.steps[1:]:
        assert not world.board.picture(job_id).record.is_over
        world.ring(job_id, request, step)
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("dead", "its workers died")
    assert world.ports.vectors["messages"].active_model("chats") == "words"


def test_a_search_whose_workers_kept_dying_is_dead(world: World) -> None:
    job_id = world.submit(MessageSearch(collection="chats", query="ships", ranking="vectors"))
    give_up(world, job_id, "search")
    assert world.board.picture(job_id).record.state == "dead"


def forget(world: World, session_id: str, collection: str = "chats") -> DropResult:
    result = world.result(world.run(DropDocuments(collection=collection, retriever="messages", ids=(session_id,))))
    assert isinstance(result, DropResult)
    return result


def test_a_forgotten_session_is_found_no_more_by_any_way(world: World) -> None:
    world.with_ports(calibration=IDENTITY)
    take_in(world, session("s", "nine ships", "soup"), session("t", "nine ships"))
    take_in(world, session("s", "nine ships"), collection="others")
    done = forget(world, "s")
    assert (done.outcome, done.total) == ("forgotten", 1)
    for fields in ({}, {"hybrid": True}, {"include_context": True}):
        found = search(world, "nine ships", similarity_threshold=None, limit=20, **fields)
        assert {hit.session_id for hit in found.results} == {"t"}
    world.embeddings.fails_with = Unavailable("away")
    assert {hit.session_id for hit in search(world, "which ships").results} == {"t"}
    assert world.words.search("chats", "messages", "soup", limit=9) == []
    assert len(world.words.search("others", "messages", "ships", limit=9)) == 1
