"""Embedding a collection with another model, in memory: alike for every retriever."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querymill_shared.board import Verdict
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.vectors import PARTS, ReembedResult
from querymill_workers.inference.ports import InputType, PreviousModel, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.calibration import IDENTITY
from querymill_workers.vectors import embedding
from tests.fakes.models import WordEmbeddings
from tests.fixtures.embedded import INGESTS, Choosy, Collection
from tests.fixtures.short_forms import all_at_night, examples
from tests.fixtures.world import World, new_world

MANY = {f"f{number}.js": f"soup {number}" for number in range(40)}


def with_other(collection: Collection, other: WordEmbeddings) -> WordEmbeddings:
    """Give the workers another model, and keep the previous one within reach."""
    world = collection.world
    world.with_ports(embeddings=other, previous=PreviousModel(world.ports.embeddings, IDENTITY))
    return other


def reembed(collection: Collection) -> ReembedResult:
    result = collection.result(collection.reembed(collection.world.ports.embeddings.model))
    assert isinstance(result, ReembedResult)
    return result


def test_the_collection_is_searched_by_the_other_model_and_has_no_vector_of_the_previous_one(
    collection: Collection,
) -> None:
    collection.put(**MANY)
    other = with_other(collection, WordEmbeddings(model="other"))
    result = reembed(collection)
    assert (result.total, result.model, result.complete, result.degraded) == (40 * collection.each, "other", True, ())
    sent = [text.rsplit("\n", 1)[-1] for text, _ in other.asked]
    assert sorted(sent) == sorted([*MANY.values()] * collection.each)
    assert collection.vectors.active_model("c") == "other"
    assert (collection.pending("other"), collection.pending("words")) == (0, 40 * collection.each)
    assert reembed(collection).total == 0


def test_refused_texts_are_tried_again_and_do_not_keep_the_collection_from_the_switch(collection: Collection) -> None:
    collection.world.with_ports(embeddings=Choosy())
    collection.put(**{"a.js": "soup", "bad.js": "poison"})
    again = reembed(collection)
    assert (again.total, again.complete) == (0, False)
    assert [(part.stage, part.code) for part in again.degraded] == [("embed", "provider_refused")]
    with_other(collection, WordEmbeddings(model="other"))
    result = reembed(collection)
    assert (result.total, result.complete, collection.refused()) == (2 * collection.each, True, [])
    with_other(collection, Choosy(model="third"))
    result = reembed(collection)
    assert (result.total, result.complete) == (collection.each, False)
    assert f"third refused {collection.each} passages" in result.degraded[0].reason
    assert (collection.vectors.active_model("c"), collection.refused()) == (
        "third",
        [("bad.js", "third")] * collection.each,
    )


def test_it_needs_the_model_of_the_workers_and_documents(collection: Collection) -> None:
    world = collection.world
    for model, reason in (
        ("another", "must be the workers' embedding model"),
        ("words", f"no {collection.kind} in 'c'"),
    ):
        record = world.board.picture(world.run(collection.reembed(model))).record
        assert record.state == "failed"
        assert reason in record.reason


def test_documents_ingested_after_their_part_are_embedded_before_the_switch(collection: Collection) -> None:
    world = collection.world
    collection.put(**MANY)
    world.with_ports(embeddings=WordEmbeddings(model="other"))
    request = collection.reembed("other")
    job_id = world.submit(request)
    for step in request.steps[:-1]:
        world.ring(job_id, request, step)
    honest = collection.vectors.await_embedding
    collection.vectors.await_embedding = lambda *_, **__: {}  # type: ignore[method-assign]
    collection.put(**{f"new{number}.js": f"tea {number}" for number in range(20)})
    collection.vectors.await_embedding = honest  # type: ignore[method-assign]
    world.ring(job_id, request, request.steps[-1])
    result = world.result(job_id)
    assert isinstance(result, ReembedResult)
    assert (result.total, [stage.name for stage in result.stages][PARTS:]) == (60 * collection.each, ["rest"])
    assert (collection.vectors.active_model("c"), collection.pending("other")) == ("other", 0)


def test_a_part_that_was_cut_is_resumed_and_a_text_refused_in_between_is_not_sent_again(collection: Collection) -> None:
    world = collection.world
    collection.put(**MANY, **{"bad.js": "poison"})
    other = with_other(collection, Choosy(model="other"))
    request = collection.reembed("other")
    job_id = world.submit(request)
    honest, calls = collection.vectors.fill, []

    def once(*given: Any, **more: Any) -> None:
        calls.append(given)
        if len(calls) == 4:
            raise Unavailable("PostgreSQL: OperationalError")
        honest(*given, **more)

    collection.vectors.fill = once  # type: ignore[method-assign]
    for _ in range(2):
        for step in request.steps:
            world.ring(job_id, request, step)
        world.let_pass(600)
    result = world.result(job_id)
    assert (result.complete, collection.pending("other")) == (False, 0)
    assert [part.code for part in result.degraded] == ["provider_refused"]
    # What was lost is sent once more, and nothing else is.
    assert len(other.asked) <= 40 * collection.each + 16


def test_a_cancelled_job_keeps_its_vectors_and_does_not_switch(collection: Collection) -> None:
    world = collection.world
    collection.put(**MANY)
    world.with_ports(embeddings=WordEmbeddings(model="other"))
    request = collection.reembed("other")
    job_id = world.submit(request)
    world.ring(job_id, request, request.steps[0])
    made = 40 * collection.each - collection.pending("other")
    world.board.settle(job_id, Verdict("cancelled", reason="by the caller"))
    for step in request.steps[1:]:
        world.ring(job_id, request, step)
    assert collection.vectors.active_model("c") == "words"
    assert (reembed(collection).total, collection.vectors.active_model("c")) == (40 * collection.each - made, "other")


@pytest.mark.parametrize("page", [3, 512])
def test_the_parts_tell_their_progress_and_list_each_passage_once(
    collection: Collection, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "LISTED", page)
    collection.put(**MANY)
    world = collection.world
    world.with_ports(embeddings=WordEmbeddings(model="other"))
    honest, listed = collection.vectors.pending, list[Any]()

    def counting(*given: Any, **more: Any) -> Any:
        found = honest(*given, **more)
        listed.extend(found)
        return found

    collection.vectors.pending = counting  # type: ignore[method-assign]
    job_id = world.run(collection.reembed("other"))
    assert len(listed) == len(MANY) * collection.each
    told = {event.stage: event for _, event in world.board.events(job_id) if isinstance(event, Progress)}
    assert all(event.done == event.total for event in told.values())
    assert sum(event.total for event in told.values()) == len(MANY) * collection.each


class Interrupted(Choosy):
    """A model during whose calls other things happen."""

    def __init__(self, model: str, world: World, happenings: list[Any]) -> None:
        super().__init__(model)
        self._world = world
        self.happenings = happenings

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        if self.happenings:
            self._world.run(self.happenings.pop())
        return super().embed(texts, input_type=input_type, caller=caller)


TEXTS = st.sampled_from(["hot soup", "cold tea", "poison", "nine ships", ""])
#: A document that is ingested with a text, or dropped with None.
CHANGES = st.lists(st.tuples(st.sampled_from([f"{number}.js" for number in range(9)]), TEXTS | st.none()), max_size=12)


@pytest.mark.parametrize("kind", all_at_night(INGESTS, short=["reports"]))
@settings(max_examples=examples(by_day=10))
@given(before=CHANGES, between=CHANGES, during=CHANGES, seed=st.integers(0, 99), is_reachable=st.booleans())
def test_a_collection_that_changes_meanwhile_ends_switched_with_every_passage_embedded_or_refused(
    kind: Retriever, before: Any, between: Any, during: Any, seed: int, is_reachable: bool
) -> None:
    def change(path: str, text: str | None) -> Any:
        dropped = DropDocuments(collection="c", retriever=kind, ids=(path,))
        return dropped if text is None else INGESTS[kind](path, text)

    world = new_world()
    collection = Collection(kind, world)
    world.with_ports(embeddings=Choosy())
    collection.put(**{"first.js": "first"})
    for each in before:
        world.run(change(*each))
    previous = PreviousModel(world.ports.embeddings, IDENTITY) if is_reachable else None
    other = Interrupted("other", world, [change(*each) for each in during])
    world.with_ports(embeddings=other, previous=previous)
    request = collection.reembed("other")
    job_id, chance = world.submit(request), random.Random(seed)
    while not world.board.has_ended(job_id):
        step = chance.choice([step.name for step in world.board.picture(job_id).steps if not step.is_closed])
        world.ring(job_id, request, step)
        if between:
            world.run(change(*between.pop()))
        world.let_pass(600)
    assert isinstance(world.result(job_id), ReembedResult)
    for each in (*between, *during[: len(other.happenings)]):
        world.run(change(*each))
    assert collection.vectors.active_model("c") == "other"
    counted = collection.vectors.counts("c", model="other")
    assert counted.pending == 0
    stored = world.ports.documents[kind].list("c", {}, limit=99, after=None)
    whole = world.ports.bodies[kind].whole("c", [card.id for card in stored])
    poisoned = {id_ for id_, document in whole.items() if "poison" in str(document)}
    assert set(collection.refused()) == {(id_, "other") for id_ in poisoned}
    assert collection.vectors.counts("c", model="words").pending == counted.passages
