"""Vectors of texts that callers had stored go with the documents that the texts are of."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest

from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import Degradation
from querymill_workers.services import embed
from tests.fixtures.people import Person, document, document_id, dropping, ingestion
from tests.fixtures.world import World

KINDS: tuple[Retriever, ...] = get_args(Retriever)
ADA, BOB = Person.new(), Person.new()


def texts_of(kind: Retriever, person: Person) -> list[str]:
    """Return two of the texts of a document, or the only one."""
    given: Mapping[str, Any] = document(kind, person)
    match kind:
        case "messages" | "conversations":
            return [message["text"] for message in given["messages"]]
        case "reports":
            return [page["text"] for page in given["pages"]]
        case "modules":
            return [given["code"], given["meta_info"]["description"]]
        case "files":
            return [given["content"]]


def embedding_of(kind: Retriever, *people: Person) -> EmbedTexts:
    """Ask for the vectors of these people's texts, and for one under the id of each one's document."""
    texts = [
        {"id": f"{person.question} {place}", "text": text}
        for person in people
        for place, text in enumerate(texts_of(kind, person))
    ]
    texts += [{"id": document_id(kind, person), "text": "what is this about?"} for person in people]
    return EmbedTexts.model_validate({"collection": "c", "texts": texts, "into": "table"})


def is_of(person: Person, text_id: str) -> bool:
    return person.question in text_id or person.place in text_id


def left(world: World) -> set[str]:
    return {text_id for _, text_id, _ in world.text_vectors.rows}


DROPS: Mapping[str, Callable[[Retriever], JobRequest]] = {
    "id": lambda kind: dropping(kind, "c", ids=[document_id(kind, ADA)]),
    "filter": lambda kind: dropping(kind, "c", filter={"note": ADA.note}),
}
EVERY_DROP = [(kind, how) for kind in KINDS for how in DROPS]


@pytest.mark.parametrize(("kind", "how"), EVERY_DROP)
def test_vectors_of_a_forgotten_document_go_with_it(world: World, kind: Retriever, how: str) -> None:
    for person in (ADA, BOB):
        world.run(ingestion(kind, "c", document(kind, person)))
        world.run(embedding_of(kind, person))
    of_both = left(world)
    world.result(world.run(DROPS[how](kind)))
    assert left(world) == {text_id for text_id in of_both if is_of(BOB, text_id)}


def pieces_of(kind: Retriever, *people: Person) -> EmbedTexts:
    """Ask for the vectors of pieces that a caller cut himself, each with its document."""
    texts = [
        {"id": f"{person.question} {place}", "text": text[3:12], "document": document_id(kind, person)}
        for person in people
        for place, text in enumerate(texts_of(kind, person))
    ]
    return EmbedTexts.model_validate({"collection": "c", "texts": texts, "into": "table"})


@pytest.mark.parametrize(("kind", "how"), EVERY_DROP)
def test_pieces_go_with_the_document_that_their_caller_named(world: World, kind: Retriever, how: str) -> None:
    for person in (ADA, BOB):
        world.run(ingestion(kind, "c", document(kind, person)))
        world.run(pieces_of(kind, person))
    waiting = world.submit(request := pieces_of(kind, ADA, BOB))
    world.result(world.run(DROPS[how](kind)))
    of_bob = {text.id for text in pieces_of(kind, BOB).texts}
    assert left(world) == of_bob
    assert ADA.place not in world.board.picture(waiting).request.model_dump_json()  # type: ignore[union-attr]
    world.ring(waiting, request, "embed")
    assert left(world) == of_bob


def test_pieces_that_were_stored_without_their_document_are_named_later_and_embedded_once(world: World) -> None:
    named = pieces_of("files", ADA)
    unnamed = [{"id": text.id, "text": text.text} for text in named.texts]
    world.run(EmbedTexts.model_validate({"collection": "c", "texts": unnamed, "into": "table"}))
    world.run(ingestion("files", "c", document("files", ADA)))
    asked = len(world.embeddings.asked)
    result = world.result(world.run(named))
    assert isinstance(result, EmbedResult)
    assert (result.unchanged, result.written, len(world.embeddings.asked)) == (len(unnamed), 0, asked)
    world.run(DROPS["id"]("files"))
    assert left(world) == set()


def test_a_job_at_work_that_names_a_document_forgotten_meanwhile_drops_its_pieces(world: World) -> None:
    named = pieces_of("files", ADA)
    unnamed = [{"id": text.id, "text": text.text} for text in named.texts]
    world.run(EmbedTexts.model_validate({"collection": "c", "texts": unnamed, "into": "table"}))
    world.run(ingestion("files", "c", document("files", ADA)))
    claim = world.board.claim(world.submit(named), "embed")
    assert claim is not None
    world.run(DROPS["id"]("files"))
    assert left(world) == {text.id for text in named.texts}
    embed.step(claim, named, world.ports)
    assert left(world) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_all_vectors_go_with_the_last_of_a_collection(world: World, kind: Retriever) -> None:
    other: Retriever = "modules" if kind == "files" else "files"
    for each in (kind, other):
        world.run(ingestion(each, "c", document(each, ADA)))
    world.run(EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "x", "text": "y"}], "into": "table"}))
    world.run(dropping(kind, "c", everything=True))
    assert left(world) == {"x"}
    world.run(dropping(other, "c", everything=True))
    assert left(world) == set()


@pytest.mark.parametrize(("kind", "how"), EVERY_DROP)
def test_a_job_that_waits_while_a_document_is_forgotten_embeds_the_texts_of_others(
    world: World, kind: Retriever, how: str
) -> None:
    for person in (ADA, BOB):
        world.run(ingestion(kind, "c", document(kind, person)))
    request = embedding_of(kind, ADA, BOB)
    waiting = world.submit(request)
    world.run(DROPS[how](kind))
    assert ADA.question not in world.board.picture(waiting).request.model_dump_json()  # type: ignore[union-attr]
    world.ring(waiting, request, "embed")
    assert left(world) == {text.id for text in request.texts if is_of(BOB, text.id)}


@pytest.mark.parametrize(("kind", "how"), EVERY_DROP)
def test_a_job_at_work_while_a_document_is_forgotten_stores_no_vector_of_it(
    world: World, kind: Retriever, how: str
) -> None:
    for person in (ADA, BOB):
        world.run(ingestion(kind, "c", document(kind, person)))
    request = embedding_of(kind, ADA, BOB)
    at_the_model(world, lambda: world.run(DROPS[how](kind)))
    result = world.result(world.run(request))
    assert left(world) == {text.id for text in request.texts if is_of(BOB, text.id)}
    of_ada = sum(is_of(ADA, text.id) for text in request.texts)
    assert isinstance(result, EmbedResult)
    assert (result.written, result.complete) == (len(request.texts) - of_ada, False)
    assert result.degraded == (
        Degradation(stage="embed", reason=f"{of_ada} texts were forgotten since", code="invalid"),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_waits_stores_nothing_once_its_collection_is_empty(world: World, kind: Retriever) -> None:
    world.run(ingestion(kind, "c", document(kind, ADA)))
    request = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "x", "text": "y"}], "into": "table"})
    at_the_model(world, lambda: world.run(dropping(kind, "c", everything=True)))
    world.run(request)
    assert left(world) == set()


def test_what_is_embedded_after_a_document_was_forgotten_is_stored(world: World) -> None:
    world.run(ingestion("files", "c", document("files", ADA)))
    waiting = world.submit(embedding_of("files", BOB))
    world.run(DROPS["id"]("files"))
    again = embedding_of("files", ADA)
    world.run(again)
    assert left(world) == {text.id for text in again.texts}
    assert world.board.picture(waiting).request == embedding_of("files", BOB)


def at_the_model(world: World, happens: Callable[[], object]) -> None:
    """Have something happen while the next texts are embedded."""
    honest, waits = world.embeddings.embed, [happens]

    def embed(*args: object, **kwargs: object) -> object:
        if waits:
            waits.pop()()
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = embed  # type: ignore[method-assign, assignment]
