"""Embedding what was ingested, in memory: alike for every retriever."""

from typing import Any

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.set_aside import ListSetAside, SetAsideResult
from querymill_shared.contracts.vectors import EmbedDocuments, EmbedDocumentsResult
from querymill_workers.dispatch.embedding import target_of
from querymill_workers.inference.ports import PreviousModel
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.text.calibration import IDENTITY
from querymill_workers.vectors.embedding import JOB_PASSAGES, parts_of, submit_embedding
from tests.fakes.models import WordEmbeddings
from tests.fixtures.embedded import Choosy, Collection
from tests.fixtures.world import World

MANY = {f"f{number}.js": f"soup {number}" for number in range(40)}


def away(world: World) -> None:
    world.embeddings.fails_with = Unavailable("embedding: no answer in time")


def embed(collection: Collection, *documents: str) -> EmbedDocumentsResult:
    result = collection.result(collection.embed(*documents))
    assert isinstance(result, EmbedDocumentsResult)
    return result


def test_what_is_ingested_is_embedded_by_a_job_of_its_own(collection: Collection) -> None:
    collection.put(**{"a.js": "hot soup", "b.js": "cold tea"})
    assert (collection.sent(), collection.pending()) == ({"hot soup", "cold tea"}, 0)
    assert len(collection.jobs()) == 2
    (job_id, _) = collection.jobs()
    result = collection.world.result(job_id)
    assert isinstance(result, EmbedDocumentsResult)
    assert (result.retriever, result.total, result.pending, result.complete) == (
        collection.kind,
        collection.each,
        0,
        True,
    )
    assert result.usage == {"provider_calls": 1, "tokens": collection.each}


def test_an_unchanged_document_asks_for_no_job(collection: Collection) -> None:
    collection.put(**{"a.js": "hot soup"})
    collection.put(**{"a.js": "hot soup"})
    assert len(collection.jobs()) == 1


def test_a_job_that_found_no_model_embeds_what_has_changed_since(collection: Collection) -> None:
    away(collection.world)
    collection.put(**{"a.js": "hot soup"})
    (job_id,) = collection.jobs()
    collection.put(**{"a.js": "cold soup"})
    collection.world.embeddings.fails_with = None
    collection.world.let_pass(600)
    collection.world.ring(job_id, collection.embed("a.js"), "embed")
    assert (collection.pending(), collection.sent()) == (0, {"cold soup"})


def test_a_change_is_left_to_the_job_that_has_not_begun(collection: Collection) -> None:
    world, ports = collection.world, collection.world.ports
    away(world)
    collection.put(**{"a.js": "soup", "b.js": "tea"})
    target = target_of(collection.kind)
    before = set(collection.jobs())
    first, bells = submit_embedding(
        target, "c", {"a.js": 1, "b.js": 1, "none.js": 1}, ports, lane=Lane.INTERACTIVE, token="x"
    )  # fmt: skip
    again, none = submit_embedding(target, "c", {"b.js": 1, "a.js": 1}, ports, lane=Lane.INTERACTIVE, token="y")
    assert (first, len(bells), none) == (again, 1, [])
    (request,) = (world.board.picture(id_).request for id_ in set(collection.jobs()) - before)
    assert request == collection.embed("a.js", "b.js").model_copy(update={"lane": Lane.NORMAL})


def test_a_load_is_cut_into_jobs_that_workers_share() -> None:
    assert list(parts_of({"a": 100, "b": 100, "c": 100, "d": 1_000})) == [("a", "b"), ("c",), ("d",)]
    assert list(parts_of({})) == []
    many = {f"{number}": 1 for number in range(600)}
    assert [len(part) for part in parts_of(many)] == [JOB_PASSAGES, JOB_PASSAGES, 600 - 2 * JOB_PASSAGES]


def test_only_the_documents_of_the_request_are_embedded(collection: Collection) -> None:
    away(collection.world)
    collection.put(**{"a.js": "hot soup", "b.js": "cold tea"})
    collection.world.embeddings.fails_with = None
    assert (embed(collection, "b.js", "never.js").total, collection.sent()) == (collection.each, {"cold tea"})
    assert (embed(collection).total, collection.pending()) == (collection.each, 0)


def test_a_collection_without_documents_has_nothing_to_embed(collection: Collection) -> None:
    result = embed(collection)
    assert (result.total, result.pending, result.complete) == (0, 0, True)


def test_a_refused_text_leaves_the_result_incomplete_and_the_others_embedded(collection: Collection) -> None:
    world = collection.world
    world.with_ports(embeddings=Choosy())
    collection.put(**{"a.js": "hot soup", "bad.js": "poison"})
    assert (collection.pending(), collection.refused()) == (0, [("bad.js", "words")] * collection.each)
    (bad, good) = (world.result(job_id) for job_id in collection.jobs())
    assert (bad.complete, [part.code for part in bad.degraded]) == (False, ["provider_refused"])
    assert f"refused {collection.each} passages; see `querymill status --set-aside`" in bad.degraded[0].reason
    assert good.complete
    listed = world.result(world.run(ListSetAside(collection="c")))
    assert isinstance(listed, SetAsideResult)
    assert len(listed.texts) == listed.total == collection.each
    text = listed.texts[0]
    assert (text.of, text.document, text.model) == (collection.kind, "bad.js", "words")
    assert text.reason == "embedding refused: HTTP 400: too long"


def test_a_refused_text_is_forgotten_with_its_change_and_with_its_document(collection: Collection) -> None:
    collection.world.with_ports(embeddings=Choosy())
    collection.put(**{"a.js": "poison", "b.js": "poison"})
    collection.put(**{"a.js": "harmless"})
    assert (collection.refused(), collection.pending()) == ([("b.js", "words")] * collection.each, 0)
    collection.world.run(DropDocuments(collection="c", retriever=collection.kind, ids=("b.js",)))
    assert collection.refused() == []


def test_of_a_document_that_is_dropped_while_it_waits_nothing_more_is_sent(collection: Collection) -> None:
    world = collection.world
    away(world)
    collection.put(**MANY)
    world.embeddings.fails_with = None
    honest = world.embeddings.embed

    def dropping(*given: Any, **more: Any) -> Any:
        world.embeddings.embed = honest  # type: ignore[method-assign]
        world.run(DropDocuments(collection="c", retriever=collection.kind, ids=("f9.js",)))
        return honest(*given, **more)

    world.embeddings.embed = dropping  # type: ignore[method-assign]
    assert embed(collection).total == 39 * collection.each
    assert collection.sent() == set(MANY.values()) - {"soup 9"}


def test_a_cancelled_job_keeps_the_vectors_it_has_made_and_the_next_goes_on(collection: Collection) -> None:
    world = collection.world
    away(world)
    collection.put(**MANY)
    world.embeddings.fails_with = None
    request = collection.embed()
    job_id = world.submit(request)
    honest = collection.vectors.fill

    def cancelling(*given: Any, **more: Any) -> None:
        world.board.settle(job_id, Verdict("cancelled", reason="by the caller"))
        honest(*given, **more)

    collection.vectors.fill = cancelling  # type: ignore[method-assign]
    world.ring(job_id, request, "embed")
    collection.vectors.fill = honest  # type: ignore[method-assign]
    left = collection.pending()
    assert 0 < left < len(MANY) * collection.each
    assert (embed(collection).total, collection.pending()) == (left, 0)


def test_a_job_begins_once_its_documents_have_settled(collection: Collection) -> None:
    world = collection.world
    away(world)
    collection.put(**{"a.js": "soup"})
    world.embeddings.fails_with = None
    request = collection.embed(settle_s=10)
    job_id = world.run(request)
    assert collection.sent() == set()
    world.let_pass(11)
    world.ring(job_id, request, "embed")
    assert (world.result(job_id).total, collection.sent()) == (collection.each, {"soup"})


def test_while_searches_compare_the_previous_model_a_new_document_is_embedded_by_both(collection: Collection) -> None:
    world, other = collection.world, WordEmbeddings(model="other")
    collection.put(**{"a.js": "hot soup"})
    world.with_ports(embeddings=other, previous=PreviousModel(world.embeddings, IDENTITY))
    collection.put(**{"b.js": "cold tea"})
    assert collection.vectors.active_model("c") == "words"
    assert (collection.pending("words"), collection.pending("other")) == (0, collection.each)
    assert embed(collection).total == collection.each
    assert (collection.vectors.active_model("c"), collection.pending("other")) == ("other", 0)
    collection.put(**{"c.js": "salt"})
    assert (collection.pending("words"), collection.pending("other")) == (3 * collection.each, 0)


def test_of_a_model_that_is_gone_no_vector_is_made(collection: Collection) -> None:
    collection.put(**{"a.js": "hot soup"})
    collection.world.with_ports(embeddings=WordEmbeddings(model="other"))
    collection.put(**{"b.js": "cold tea"})
    assert (collection.pending("words"), collection.pending("other")) == (collection.each, collection.each)
    assert collection.vectors.active_model("c") == "words"


def test_a_dropped_document_that_comes_again_is_embedded_again(collection: Collection) -> None:
    collection.put(**{"a.js": "hot soup", "b.js": "tea"})
    collection.world.run(DropDocuments(collection="c", retriever=collection.kind, ids=("a.js",)))
    collection.world.embeddings.asked.clear()
    collection.put(**{"a.js": "hot soup"})
    assert (collection.pending(), collection.sent()) == (0, {"hot soup"})


def test_no_job_waits_for_what_was_dropped(collection: Collection) -> None:
    away(collection.world)
    collection.put(**{"a.js": "soup"})
    assert collection.vectors.await_embedding("c", {"a.js": "waits"}, models=["words"]) == {"a.js": "waits"}
    collection.world.run(DropDocuments(collection="c", retriever=collection.kind, ids=("a.js",)))
    honest, waiting = collection.vectors.await_embedding, dict[str, str]()

    def noting(*given: Any, **more: Any) -> Any:
        waiting.update(honest(*given, **more))
        return waiting

    collection.vectors.await_embedding = noting  # type: ignore[method-assign]
    collection.put(**{"a.js": "soup"})
    assert list(waiting) == ["a.js"]
    assert waiting["a.js"] != "waits"


def test_the_documents_of_a_request_are_bounded(collection: Collection) -> None:
    with pytest.raises(ValueError, match="documents"):
        EmbedDocuments(collection="c", retriever=collection.kind, documents=tuple(map(str, range(257))))
