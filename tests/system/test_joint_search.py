"""One question over everything, on real servers: through the client and the gateway, for keys, and after a drop."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import httpx
import pytest
from typer.testing import CliRunner

from querymill import AsyncQuerymill, Querymill, Search, SearchResult, UnknownCollection, UnknownJob
from querymill.cli.main import app
from querymill.keys import Keyring, Scope
from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import OpenAIServer, chat_stream
from tests.fakes.worker import WorkerProcess
from tests.fixtures.console import Page, read_page
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on
from tests.fixtures.people import Person, document, document_id, ingestion

KINDS: tuple[Retriever, ...] = get_args(Retriever)


@pytest.fixture(scope="module")
def people(deployment: Deployment, worker: WorkerProcess) -> dict[str, Person]:
    """Two collections that hold a person of their own in every kind."""
    found = {f"joint-{uuid4().hex[:8]}": Person.new() for _ in range(2)}
    with Querymill(settings=deployment.settings) as mill:
        for collection, person in found.items():
            for kind in KINDS:
                finished(mill, ingestion(kind, collection, document(kind, person)))
    return found


@pytest.fixture(scope="module")
def keyring(deployment: Deployment) -> Iterator[Keyring]:
    with keys_on(deployment.settings) as keyring:
        yield keyring


@pytest.fixture(scope="module")
def guarded(deployment: Deployment, keyring: Keyring) -> Iterator[GatewayHere]:
    bearer(keyring, "*")
    with GatewayHere(deployment.settings) as gateway:
        yield gateway


@pytest.fixture
def http(guarded: GatewayHere) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def mill(deployment: Deployment) -> Iterator[Querymill]:
    with Querymill(settings=deployment.settings) as connected:
        yield connected


def run_cli(deployment: Deployment, *arguments: str) -> str:
    found = CliRunner(env=dict(deployment.environment)).invoke(app, list(arguments))
    assert found.exit_code == 0, found.output
    return found.stdout


def about(person: Person, **fields: Any) -> Search:
    return Search.model_validate({"query": f"{person.text} {person.name}", "deadline": 30} | fields)


def test_a_question_is_asked_of_all_that_the_collections_hold(mill: Querymill, people: dict[str, Person]) -> None:
    collection, person = next(iter(people.items()))
    result = mill.submit(about(person, collections=tuple(people))).result(timeout=PATIENCE_S)
    assert isinstance(result, SearchResult)
    assert {(branch.kind, branch.collection) for branch in result.branches} == {
        (kind, name) for kind in KINDS for name in people
    }
    assert {branch.state for branch in result.branches} == {"done"}
    found = {hit.kind for hit in result.results if hit.collection == collection}
    assert found == set(KINDS), "each kind holds the person's text"


def test_a_question_about_code_spares_the_other_stores(mill: Querymill, people: dict[str, Person]) -> None:
    """The others are asked where the code says little."""
    collection, person = next(iter(people.items()))
    asked = about(person, collections=(collection,), query=f"harbour() of {person.text}, {person.name}")
    result = mill.submit(asked).result(timeout=PATIENCE_S)
    assert {branch.kind for branch in result.branches if branch.state == "spared"} == {*KINDS} - {"modules", "files"}
    assert {hit.kind for hit in result.results} == {"modules", "files"}
    assert (result.complete, "the others were spared" in str(result.routing)) == (True, True)
    strange = about(person, collections=(collection,), query=f"{person.name} nowhere unheard_of_name in gone.py")
    everywhere = mill.submit(strange).result(timeout=PATIENCE_S)
    assert {branch.state for branch in everywhere.branches} == {"done"}
    assert "the others were asked, too" in str(everywhere.routing)


def test_the_asynchronous_client_asks_alike(deployment: Deployment, people: dict[str, Person]) -> None:
    person = next(iter(people.values()))

    async def ask() -> SearchResult:
        async with AsyncQuerymill(settings=deployment.settings) as mill:
            job = await mill.submit(about(person, kinds=("reports",), collections=tuple(people)))
            return await job.result(PATIENCE_S)

    result = asyncio.run(ask())
    assert {hit.kind for hit in result.results} == {"reports"}


def test_what_holds_nothing_is_refused_before_anything_is_enqueued(mill: Querymill, people: dict[str, Person]) -> None:
    before = {job.id for job in mill.recent(limit=1)}
    with pytest.raises(UnknownCollection, match="no documents in 'nowhere'"):
        mill.submit(Search(query="who", collections=("nowhere",)))
    assert {job.id for job in mill.recent(limit=1)} == before


def test_a_key_asks_what_it_may_read_and_nothing_else(
    http: httpx.Client, keyring: Keyring, people: dict[str, Person]
) -> None:
    (mine, person), (theirs, other) = people.items()
    key, every = bearer(keyring, mine), bearer(keyring, mine, theirs)
    question = f"{person.text} {other.text}"
    asked = {"kind": "search", "query": question, "deadline": 30}
    found = http.post("/v1/jobs?wait=30", json=asked, headers=key)
    assert found.status_code == 200, found.text
    result = found.json()
    assert {branch["collection"] for branch in result["branches"]} == {mine}
    assert {hit["collection"] for hit in result["results"]} == {mine}
    assert other.text not in json.dumps([hit["hit"] for hit in result["results"]]).replace(question, "")
    of_both = http.post("/v1/jobs?wait=30", json=asked | {"top_k": 30}, headers=every).json()
    assert {hit["collection"] for hit in of_both["results"]} == {mine, theirs}
    # A job of two collections is seen by who sees both.
    assert http.get(f"/v1/jobs/{of_both['job_id']}", headers=every).status_code == 200
    assert http.get(f"/v1/jobs/{of_both['job_id']}", headers=key).status_code == 404
    assert of_both["job_id"] not in http.get("/v1/jobs", headers=key).text


@pytest.mark.parametrize("field", ["collections", "branches"])
def test_a_collection_of_another_is_answered_as_one_that_there_is_not(
    http: httpx.Client, keyring: Keyring, people: dict[str, Person], field: str
) -> None:
    mine, theirs = people
    key = bearer(keyring, mine)

    def answer(collection: str) -> tuple[int, str]:
        named = collection if field == "collections" else f"reports/{collection}"
        found = http.post("/v1/jobs", json={"kind": "search", "query": "who", field: [named]}, headers=key)
        return found.status_code, json.dumps(found.json() | {"request_id": "", "instance": ""})

    assert answer(theirs) == answer("nowhere")
    assert answer(theirs)[0] == 404
    assert theirs not in answer(theirs)[1]


def test_a_chat_is_answered_from_everything_by_the_model_all(
    http: httpx.Client, keyring: Keyring, people: dict[str, Person], openai_server: OpenAIServer
) -> None:
    """The answer's job holds texts of every collection that it cites: only who sees all of them sees it."""
    openai_server.script.chat = lambda _: chat_stream("They are named [1].")
    every, mine = bearer(keyring, *people), bearer(keyring, next(iter(people)))
    models = [model["id"] for model in http.get("/v1/models", headers=every).json()["data"]]
    assert "all" in models
    question = " ".join(f"{person.text} {person.name}" for person in people.values())
    asked = {"model": "all", "messages": [{"role": "user", "content": question}]}
    found = http.post("/v1/chat/completions", json=asked, headers=every)
    assert found.status_code == 200, found.text
    assert found.json()["choices"][0]["message"]["content"] == "They are named [1]."
    answers = [job for job in http.get("/v1/jobs", headers=every).json()["jobs"] if job["kind"] == "answer"]
    assert set(answers[0]["collection"].split(",")) == set(people)
    assert http.get(f"/v1/jobs/{answers[0]['job_id']}", headers=mine).status_code == 404


def test_the_command_asks_all(deployment: Deployment, people: dict[str, Person]) -> None:
    person = next(iter(people.values()))
    names = [part for name in people for part in ("--collection", name)]
    found = run_cli(deployment, "search", "all", person.text, *names, "--kind", "reports", "--json")
    assert {hit["kind"] for hit in json.loads(found)["results"]} == {"reports"}
    shown = run_cli(deployment, "search", "all", person.text, *names)
    assert "weight" in shown
    assert "hits in all" in shown


def test_a_batch_asks_all(deployment: Deployment, people: dict[str, Person], tmp_path: Path) -> None:
    collection, person = next(iter(people.items()))
    asked, out = tmp_path / "asked.jsonl", tmp_path / "results.jsonl"
    asked.write_text(json.dumps({"_id": "q1", "query": person.text}) + "\n", encoding="utf-8")
    told = run_cli(deployment, "batch", "all", str(asked), "--collection", collection, "--out", str(out), "--json")
    assert json.loads(told)["answered"] == 1
    (line,) = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert {hit["kind"] for hit in line["result"]["results"]} == {*KINDS}


def test_the_console_asks_everything(guarded: GatewayHere, keyring: Keyring, people: dict[str, Person]) -> None:
    mine, person = next(iter(people.items()))
    _, written = keyring.add("web", scopes=(Scope.SEARCH,), collections=(mine,))
    with httpx.Client(base_url=guarded.url, timeout=PATIENCE_S, follow_redirects=True) as browser:

        def look(path: str) -> Page:
            found = browser.get(path)
            return read_page(found.text, found.headers, found.status_code)

        def send(path: str, **fields: str) -> httpx.Response:
            (token, *_) = look(path).all("input", name="token")
            return browser.post(path, data={"token": token["value"]} | fields)

        send("/console/sign-in", key=written, next="/console/search")
        form = look("/console/search/search")
        assert [tab["href"] for tab in form.all("a", **{"aria-current": "page"})][-1] == "/console/search/search"
        assert not form.all("select", name="collection"), "what it may read is searched"
        wrong = send("/console/search/search", query=person.text, collections="nowhere")
        assert (wrong.status_code, "holds nothing of this kind" in wrong.text) == (422, True)
        job = send("/console/search/search", query=person.text, collections=mine).url.path
        ended = f"/v1/jobs/{job.rpartition('/')[2]}/result?wait=30"
        assert browser.get(ended, headers={"Authorization": f"Bearer {written}"}).status_code == 200
        shown = look(job)
        assert {f"{kind} in {mine}" in shown.text for kind in KINDS} == {True}
        edited = look(f"/console/search/search?job={job.rpartition('/')[2]}")
        assert mine in edited.text


def test_a_result_that_names_a_forgotten_document_goes_and_another_stays(
    mill: Querymill, people: dict[str, Person]
) -> None:
    collection, person = next(iter(people.items()))
    for_good = Person.new()
    finished(mill, ingestion("reports", collection, document("reports", for_good)))
    naming = mill.submit(about(for_good, collections=tuple(people)))
    assert document_id("reports", for_good) in naming.result(timeout=PATIENCE_S).model_dump_json()
    other = mill.submit(about(person, collections=(collection,), kinds=("messages",)))
    other.result(timeout=PATIENCE_S)
    mill.drop("reports", collection=collection, ids=[document_id("reports", for_good)], timeout=PATIENCE_S)
    until = time.monotonic() + 10
    with suppress(UnknownJob):
        while time.monotonic() < until:  # who waits for a job may read how it ended for a moment
            mill.job(naming.id).picture()
            time.sleep(0.2)
        pytest.fail("the result still names the document")
    assert other.result(timeout=5).results
