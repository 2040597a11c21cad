"""Who is forgotten is gone: from every table, sample, key and log of a real deployment."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, get_args
from uuid import uuid4

import pytest

from querymill import (
    AnswerQuestion,
    CompareFiles,
    EmbedTexts,
    JobFailed,
    Querymill,
    Rerank,
    Settings,
    SourceFile,
    UnknownCollection,
    UnknownJob,
)
from querymill_embedded import Stack
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.results import JobResult
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures import people
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.people import Person, document, document_id, ingestion, search
from tests.fixtures.short_forms import all_at_night

KINDS: tuple[Retriever, ...] = get_args(Retriever)
#: How each kind is told who is to be forgotten.
SCOPES: Mapping[Retriever, Callable[[Person], dict[str, Any]]] = {
    "messages": lambda person: {"filter": {"user_name": person.name}},
    "conversations": lambda person: {"filter": {"user_name": person.name}},
    "reports": lambda person: {"filter": {"company": person.name}},
    "modules": lambda person: {"filter": {"note": person.note}},
    "files": lambda person: {"filter": {"path": {"prefix": f"src/{person.place}"}}},
}


#: Some of the places that hold something of a person: tables of every kind, what jobs hold, and what models answered.
HOLDING: tuple[str, ...] = (
    "table chat_messages", "table chat_passages", "table conversations", "table reports", "table report_pages",
    "table code_files", "table code_chunks", "table module_documents", "table text_vectors", "table word_entries",
    "table word_runs", "samples of ", ":request'", ":result'", ":events'", "qm:chat:",
)  # fmt: skip


@pytest.fixture
def fleet(deployment: Deployment, openai_server: OpenAIServer) -> Iterator[WorkerProcess]:
    """A worker of this test's own: its log holds all that it wrote. Its model repeats what it is told."""
    openai_server.script.chat = lambda request: chat_answer(str(request["messages"])[-2_000:])
    with WorkerProcess(deployment.environment, name="forgetful") as process:
        yield process


def live(mill: Querymill, settings: Settings, collection: str, person: Person) -> None:
    """Put a person into every kind, and ask about them in every way."""
    for kind in KINDS:
        finished(mill, ingestion(kind, collection, document(kind, person)))
    for kind in KINDS:
        texts = [{"id": document_id(kind, person), "text": person.text}]
        finished(mill, EmbedTexts.model_validate({"collection": collection, "texts": texts, "into": "table"}))
    for kind in KINDS:
        finished(mill, search(kind, collection, f"what about {person.text} and {person.question}"))
        mill.list(kind, collection=collection)
        mill.show(kind, document_id(kind, person), collection=collection)
    hits = [{"id": person.place, "text": f"{person.text} of {person.name}", "score": 0.5}]
    for asking in (Rerank, AnswerQuestion):
        given = {"collection": collection, "query": f"who is {person.question}", "hits": hits}
        with suppress(JobFailed):
            finished(mill, asking.model_validate(given))
    mill.submit(ingestion(KINDS[0], collection, document(KINDS[0], person))).cancel()
    with closing(ValkeyBoard.connect(settings)) as board:
        for kind in KINDS:
            letter, _ = board.submit(ingestion(kind, collection, document(kind, person)))
            board.settle(letter, Verdict("dead", reason="given up"))


def found(mill: Querymill, kind: Retriever, collection: str, person: Person) -> bool:
    """Whether a search finds a person's text. Explanations quote the question, which has it as well."""
    result: JobResult = mill.submit(search(kind, collection, f"{person.text} {person.name}")).result(timeout=60)
    hits = result.model_dump(mode="json", include={"results"})["results"]
    return any(person.text in json.dumps(hit | {"explanation": None}, ensure_ascii=False) for hit in hits)


def held(stack: Stack, deployment: Deployment, fleet: WorkerProcess) -> Iterator[tuple[str, str]]:
    """Yield all that any part of the deployment holds."""
    settings, environment = deployment.settings, deployment.environment
    yield from people.in_valkey(settings.redis_url)
    yield from people.in_postgres(environment["DATABASE_URL"])
    yield from people.in_samples(environment["DATABASE_URL"])
    yield "log of the worker", fleet.log
    for path in stack.data.rglob("*.log*"):  # those that were set aside when they were full, too
        yield str(path), path.read_text(errors="replace")


def left_of(person: Person, stack: Stack, deployment: Deployment, fleet: WorkerProcess) -> list[str]:
    """Name what is left once the jobs that ended just now are deleted."""
    until = time.monotonic() + 30
    left = people.places_of(person.canaries, held(stack, deployment, fleet))
    while left and time.monotonic() < until:
        time.sleep(0.5)
        left = people.places_of(person.canaries, held(stack, deployment, fleet))
    return left


def test_nothing_is_left_of_a_person_who_is_forgotten_and_others_stay(
    stack: Stack, deployment: Deployment, fleet: WorkerProcess, mill: Querymill
) -> None:
    collection = f"people-{uuid4().hex[:8]}"
    ada, bob = Person.new(), Person.new()
    for person in (ada, bob):
        live(mill, deployment.settings, collection, person)
    people.take_samples(deployment.environment["DATABASE_URL"])
    places = " ".join(people.places_of(ada.canaries, held(stack, deployment, fleet)))
    assert [place for place in HOLDING if place not in places] == [], "the search finds what is there"
    for kind in KINDS:
        assert found(mill, kind, collection, ada), kind
        dropped = mill.drop(kind, collection=collection, **SCOPES[kind](ada), timeout=60)
        assert (kind, dropped.total, dropped.outcome) == (kind, 1, "forgotten")
    assert left_of(ada, stack, deployment, fleet) == []
    for kind in KINDS:
        assert not found(mill, kind, collection, ada)
        assert found(mill, kind, collection, bob), kind
        assert [card.id for card in mill.list(kind, collection=collection).documents] == [document_id(kind, bob)]


def test_nothing_is_left_in_mongodb_of_who_is_forgotten(deployment: Deployment, mongodb_uri: str) -> None:
    board = deployment.settings.redis_url.removesuffix("/2") + "/13"
    environment = deployment.environment | {"MONGODB_URI": mongodb_uri, "REDIS_URL": board}
    collection, ada, bob = f"people-{uuid4().hex[:8]}", Person.new(), Person.new()
    with WorkerProcess(environment), Querymill(redis_url=board, settings=deployment.settings) as mill:
        for person in (ada, bob):
            finished(mill, ingestion("modules", collection, document("modules", person)))
        assert "mongo module_codes" in " ".join(people.places_of(ada.canaries, people.in_mongo(mongodb_uri)))
        assert found(mill, "modules", collection, ada)
        assert mill.drop("modules", collection=collection, **SCOPES["modules"](ada), timeout=60).total == 1
        assert people.places_of(ada.canaries, people.in_mongo(mongodb_uri)) == []
        assert not found(mill, "modules", collection, ada)
        assert [card.id for card in mill.list("modules", collection=collection).documents] == [
            document_id("modules", bob)
        ]


def sampled_in_the_end(person: Person, deployment: Deployment) -> list[str]:
    """Name the samples of a person that are left: they are taken again in a moment, and not too often."""
    until = time.monotonic() + 120
    while True:
        sampled = people.places_of(person.canaries, people.in_samples(deployment.environment["DATABASE_URL"]))
        if not sampled or time.monotonic() > until:
            return sampled
        time.sleep(1)


@pytest.mark.nightly  # by day: a person, above; drops by ids, test_forgotten_records.py
def test_nothing_is_left_of_documents_that_are_dropped_by_their_ids(
    stack: Stack, deployment: Deployment, fleet: WorkerProcess, mill: Querymill
) -> None:
    collection = f"single-{uuid4().hex[:8]}"
    ada, bob = Person.new(), Person.new()
    for person in (ada, bob):
        for kind in KINDS:
            finished(mill, ingestion(kind, collection, document(kind, person)))
    people.take_samples(deployment.environment["DATABASE_URL"])
    sampled = people.places_of(ada.canaries, people.in_samples(deployment.environment["DATABASE_URL"]))
    assert sampled, "the search finds what is there"
    for kind in KINDS:
        dropped = mill.drop(kind, collection=collection, ids=[document_id(kind, ada)], timeout=60)
        assert (kind, dropped.total) == (kind, 1)
    assert sampled_in_the_end(ada, deployment) == []
    assert [card.id for kind in KINDS for card in mill.list(kind, collection=collection).documents] == [
        document_id(kind, bob) for kind in KINDS
    ]


@pytest.mark.nightly  # by day: the samples of a person, above
def test_no_sample_is_left_of_a_file_that_is_not_in_its_code_base_any_more(
    deployment: Deployment, fleet: WorkerProcess, mill: Querymill
) -> None:
    collection, ada, bob = f"base-{uuid4().hex[:8]}", Person.new(), Person.new()
    for person in (ada, bob):
        finished(mill, ingestion("files", collection, document("files", person)))
    people.take_samples(deployment.environment["DATABASE_URL"])
    sampled = people.places_of(ada.canaries, people.in_samples(deployment.environment["DATABASE_URL"]))
    assert sampled, "the search finds what is there"
    kept = SourceFile.model_validate(document("files", bob))
    compared = finished(mill, CompareFiles(collection=collection, files={kept.path: kept.sha256}, remove=True))
    assert compared.removed == (document_id("files", ada),)
    assert sampled_in_the_end(ada, deployment) == []


@pytest.mark.nightly
def test_nothing_is_left_of_a_collection_that_is_dropped(
    stack: Stack, deployment: Deployment, fleet: WorkerProcess, mill: Querymill
) -> None:
    collection, other = f"gone-{uuid4().hex[:8]}", f"stays-{uuid4().hex[:8]}"
    ada = Person.new()
    live(mill, deployment.settings, collection, ada)
    people.take_samples(deployment.environment["DATABASE_URL"])
    for kind in KINDS:
        finished(mill, ingestion(kind, other, document(kind, bob := Person.new())))
        assert mill.drop(kind, collection=collection, everything=True, timeout=60).total == 1
        assert found(mill, kind, other, bob)
        with pytest.raises(UnknownCollection), Querymill(settings=deployment.settings) as fresh:
            fresh.submit(search(kind, collection, "harbour"))
    assert collection not in mill.collections()
    assert set(mill.collections()[other]) == set(KINDS)
    assert left_of(ada, stack, deployment, fleet) == []


@pytest.mark.parametrize("kind", all_at_night(KINDS, short=["files"]))
def test_a_write_that_waited_comes_too_late(deployment: Deployment, mill: Querymill, kind: Retriever) -> None:
    """It was accepted before the person was forgotten, and is carried out afterwards."""
    collection, ada, bob = f"late-{uuid4().hex[:8]}", Person.new(), Person.new()
    with WorkerProcess(deployment.environment, name="first"):
        finished(mill, ingestion(kind, collection, document(kind, bob)))
    # Nobody works now. Which of the two is begun first is chance, as the drop does not wait for the write.
    late = mill.submit(ingestion(kind, collection, document(kind, ada)))
    drop = mill.submit(people.dropping(kind, collection, **SCOPES[kind](ada)))
    with WorkerProcess(deployment.environment, name="second"):
        drop.result(timeout=60)
        with suppress(JobFailed, UnknownJob):
            late.result(timeout=60)
        assert [card.id for card in mill.list(kind, collection=collection).documents] == [document_id(kind, bob)]


@pytest.mark.parametrize("kind", all_at_night(KINDS, short=["messages", "files"]))
def test_an_export_ingested_into_another_collection_gives_the_same_answers(
    worker: WorkerProcess, mill: Querymill, kind: Retriever
) -> None:
    collection, copy = f"from-{uuid4().hex[:8]}", f"into-{uuid4().hex[:8]}"
    crowd = [Person.new() for _ in range(3)]
    for person in crowd:
        finished(mill, ingestion(kind, collection, document(kind, person)))
    exported = list(mill.export(kind, collection=collection))
    assert len(exported) == 3
    for line in exported:
        finished(mill, ingestion(kind, copy, line))
    assert list(mill.export(kind, collection=copy)) == exported
    for person in crowd:
        query = f"{person.text} {person.name} harbour"
        answers = [answer(mill, kind, each, query) for each in (collection, copy)]
        assert answers[0] == answers[1]
        assert person.text in answers[0]


def answer(mill: Querymill, kind: Retriever, collection: str, query: str) -> str:
    """Return the hits of a search, without what names the collection."""
    until = time.monotonic() + 30
    while True:
        result = mill.submit(search(kind, collection, query)).result(timeout=60)
        pending = any("pending" in part.reason for part in result.degraded)
        if not pending or time.monotonic() > until:
            return str(result.model_dump_json(include={"results", "total"})).replace(collection, "COLLECTION")
        time.sleep(0.2)
