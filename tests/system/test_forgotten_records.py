"""What stays on the board of the jobs of a collection when one of its documents is dropped: how the writes ended."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args
from uuid import uuid4

import httpx
import pytest

from querymill import EmbedTexts, MessageSearch, Querymill, TextToEmbed, UnknownJob
from querymill_shared.board.calls import READABLE_MS
from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures import people
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.gateways import GatewayProcess, gateway_process
from tests.fixtures.people import Person, document, document_id, dropping, ingestion, search
from tests.fixtures.short_forms import all_at_night

KINDS: tuple[Retriever, ...] = get_args(Retriever)
#: A search that has ended stays readable at least this long, in seconds: longer than one that goes.
MOMENT_S = READABLE_MS / 1_000 + 0.5


@pytest.fixture(scope="module")
def gateway(deployment: Deployment) -> Iterator[GatewayProcess]:
    with gateway_process(deployment.environment) as running:
        yield running


def is_there(mill: Querymill, job_id: str) -> bool:
    try:
        return bool(mill.job(job_id).result(timeout=5))
    except UnknownJob:
        return False


def names(result: Any, id_: str) -> bool:
    return any(text == id_ for text in _strings(result.model_dump(mode="json")["results"]))


def _strings(written: Any) -> Iterator[str]:
    match written:
        case dict():
            for value in written.values():
                yield from _strings(value)
        case list():
            for value in written:
                yield from _strings(value)
        case str():
            yield written
        case _:
            return


@pytest.mark.parametrize("kind", all_at_night(KINDS, short=["reports"]))
def test_a_drop_of_one_document_leaves_the_records_of_all_writes_and_of_other_searches(
    worker: WorkerProcess, deployment: Deployment, mill: Querymill, kind: Retriever
) -> None:
    collection, crowd = f"kept-{uuid4().hex[:8]}", [Person.new() for _ in range(6)]
    writes = [ingestion(kind, collection, document(kind, person)) for person in crowd]
    ingested = [mill.submit(write, idempotency_key=f"{kind} {number}") for number, write in enumerate(writes)]
    for job in ingested:
        job.result(timeout=60)
    finished(mill, writes[0])
    searches = [mill.submit(search(kind, collection, f"{person.text} {person.name}")) for person in crowd]
    gone = crowd[0]
    found = {job.id: names(job.result(timeout=60), document_id(kind, gone)) for job in searches}
    assert any(found.values())
    time.sleep(0.5)
    assert mill.drop(kind, collection=collection, ids=[document_id(kind, gone)], timeout=60).total == 1
    time.sleep(MOMENT_S)
    assert [is_there(mill, job.id) for job in ingested] == [True] * 6
    assert {job_id: not is_there(mill, job_id) for job_id in found} == found
    again = [mill.submit(write, idempotency_key=f"{kind} {number}") for number, write in enumerate(writes)]
    assert [job.id for job in again] == [job.id for job in ingested]
    assert people.places_of(gone.canaries, people.in_valkey(deployment.settings.redis_url)) == []


@pytest.mark.nightly
def test_a_drop_by_filter_and_of_everything_leave_how_writes_ended(
    worker: WorkerProcess, deployment: Deployment, mill: Querymill
) -> None:
    for scope in ("filter", "everything"):
        collection, ada, bob = f"{scope}-{uuid4().hex[:8]}", Person.new(), Person.new()
        jobs = [mill.submit(ingestion("messages", collection, document("messages", each))) for each in (ada, bob)]
        texts = (TextToEmbed(id=ada.place, text=ada.text),)
        jobs.append(mill.submit(EmbedTexts(collection=collection, texts=texts, into="table")))
        for job in jobs:
            job.result(timeout=60)
        fields: dict[str, Any] = {"filter": {"user_name": ada.name}} if scope == "filter" else {"everything": True}
        drop = mill.submit(dropping("messages", collection, **fields))
        assert drop.result(timeout=60).outcome == "forgotten"
        time.sleep(MOMENT_S)
        assert all(is_there(mill, job.id) for job in (*jobs, drop))
        assert people.places_of(ada.canaries, people.in_valkey(deployment.settings.redis_url)) == []


@pytest.mark.nightly  # by day: the drop of one document, above
def test_a_search_beside_a_drop_is_readable_afterwards_and_heard_to_its_end(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer, gateway: GatewayProcess
) -> None:
    collection, ada, bob = f"beside-{uuid4().hex[:8]}", Person.new(), Person.new()
    for person in (ada, bob):
        finished(mill, ingestion("messages", collection, document("messages", person)))
    openai_server.script.embeddings = lambda request: replace(embedded(request), after_s=1.5)
    asked = MessageSearch(collection=collection, query=f"a fresh question {uuid4().hex}", deadline=30)
    job = mill.submit(asked)
    heard: list[str] = []
    follower = threading.Thread(target=lambda: heard.extend(_followed(f"{gateway.url}/v1/jobs/{job.id}/events")))
    follower.start()
    time.sleep(0.3)
    late = mill.submit(ingestion("messages", collection, document("messages", Person.new())))
    drop = mill.submit(dropping("messages", collection, ids=[ada.place]))
    assert drop.result(timeout=60).total == 1
    result = job.result(timeout=60)
    late.result(timeout=60)
    follower.join(timeout=60)
    assert heard[-1] == "done"
    time.sleep(MOMENT_S)
    assert is_there(mill, job.id) is not names(result, ada.place)
    assert is_there(mill, late.id)
    shown = httpx.get(f"{gateway.url}/v1/jobs/{late.id}/result", params={"wait": 5}, timeout=60)
    assert (shown.status_code, shown.json()["documents"][0]["outcome"]) == (200, "ingested")
    assert _followed(f"{gateway.url}/v1/jobs/{late.id}/events")[-1] == "done"


def _followed(url: str) -> list[str]:
    """Return the types of the events that a stream brings until it ends."""
    types: list[str] = []
    with httpx.stream("GET", url, timeout=60) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                told = json.loads(line.removeprefix("data:"))
                types.append(told["type"])
                if told["type"] in ("done", "failed", "cancelled"):
                    break
    return types
