"""Vectors of every retriever on real servers: a refused text, a change of the model, and what is ingested meanwhile."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from querymill import EmbedDocuments, IngestMessages, MessageSearch, Querymill, WeighVectors
from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.embedded import INGESTS, PASSAGES
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tallies import until
from tests.system.retrievers.messages.test_life import NEW, OLD, mirrored, models_asked, moved

__all__ = ["moved"]

REFUSED = "a text that the provider cannot read"


def refusing(request: dict[str, Any]) -> Answer:
    if any(REFUSED in text for text in request["input"]):
        error = {"error": {"message": f"cannot embed: {REFUSED}", "type": "invalid_request_error"}}
        return Answer(json.dumps(error).encode(), status=400)
    return embedded(request)


def ingest(mill: Querymill, kind: Retriever, collection: str, **texts: str) -> None:
    for id_, text in texts.items():
        mill.submit(INGESTS[kind](id_, text).model_copy(update={"collection": collection})).result(timeout=60)


def embed(mill: Querymill, kind: Retriever, collection: str) -> Any:
    """Embed what no other job has embedded yet."""
    return mill.submit(EmbedDocuments(collection=collection, retriever=kind)).result(timeout=60)


def listed(querymill: CommandLine, collection: str) -> list[tuple[str, str, str]]:
    run = querymill("status", "--set-aside", "--collection", collection, "--json")
    assert REFUSED not in run.stdout
    return [(text["of"], text["document"], text["model"]) for text in json.loads(run.stdout)]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("kind", all_at_night(INGESTS, short=["modules"]))
def test_a_refused_text_is_listed_and_tried_again_by_reembed(
    mill: Querymill, querymill: CommandLine, openai_server: OpenAIServer, kind: Retriever
) -> None:
    collection = f"c{uuid4().hex[:12]}"
    openai_server.script.embeddings = refusing
    ingest(mill, kind, collection, **{"a.js": f"soup of {collection}", "bad.js": REFUSED})
    until(lambda: listed(querymill, collection) == [(kind, "bad.js", OLD)] * PASSAGES[kind])
    printed = querymill("status", "--set-aside", "--collection", collection).stdout
    assert (printed.count("embedding rejected: HTTP 400:"), REFUSED in printed) == (PASSAGES[kind], False)
    for _ in range(2):
        again = querymill("reembed", kind, "--collection", collection, "--json")
        told = json.loads(again.stdout)
        assert (told["retriever"], told["complete"], told["degraded"][0]["code"]) == (kind, False, "provider_refused")
    openai_server.script.embeddings = lambda request: mirrored(request | {"model": OLD})
    again = querymill("reembed", kind, "--collection", collection, "--json")
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert (told["total"], told["complete"], listed(querymill, collection)) == (PASSAGES[kind], True, [])
    wrong = querymill("reembed", kind, "--collection", f"{collection}x")
    assert wrong.returncode != 0
    assert f"no {kind} in" in wrong.stderr


@pytest.mark.nightly  # by day: unit/vectors/test_reembedding.py
@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("kind", INGESTS)
def test_a_collection_that_grows_while_it_changes_its_model_ends_with_the_new_one(
    mill: Querymill, moved: Deployment, openai_server: OpenAIServer, kind: Retriever
) -> None:
    collection = f"c{uuid4().hex[:12]}"
    ingest(mill, kind, collection, **{f"{number}.js": f"ships {number} of {collection}" for number in range(24)})
    until(lambda: embed(mill, kind, collection).pending == 0)
    openai_server.reset()
    openai_server.script.embeddings = mirrored
    reembed = CommandLine(moved.environment)
    with WorkerProcess(moved.environment), Querymill(settings=moved.settings) as later:
        command = ("reembed", kind, "--collection", collection, "--json")
        running = ThreadPoolExecutor(1).submit(reembed, *command)
        until(lambda: NEW in models_asked(openai_server))
        ingest(later, kind, collection, **{f"new{number}.js": f"tea {number} of {collection}" for number in range(6)})
        told = json.loads(running.result(timeout=90).stdout)
        assert (told["model"], told["complete"]) == (NEW, True)
        assert 24 * PASSAGES[kind] <= told["total"] <= 30 * PASSAGES[kind]
        until(lambda: embed(later, kind, collection).pending == 0)
        assert json.loads(reembed(*command).stdout)["total"] == 0
        openai_server.requests.clear()
        ingest(later, kind, collection, **{"last.js": f"salt of {collection}"})
        until(lambda: embed(later, kind, collection).pending == 0 and models_asked(openai_server) == {NEW})


@pytest.mark.usefixtures("worker")
def test_vectors_are_weighed_once_they_are_made_and_a_search_says_so(mill: Querymill) -> None:
    collection = f"c{uuid4().hex[:12]}"
    told = "the crew {0} of ship {0} sleeps below. the anchor of harbour {0} holds. tea {0} is hot"
    said = [session(f"s{number}", told.format(number)) for number in range(60)]
    mill.submit(IngestMessages(collection=collection, documents=tuple(said))).result(timeout=60)
    asked = MessageSearch(query="who sleeps below on ship 7", collection=collection)

    def weighed() -> bool:
        return bool(explained(mill, asked).get("vectors_weight_from") == "estimate")

    until(weighed)
    worth = explained(mill, asked)["vectors_worth"]
    assert worth["low"] <= explained(mill, asked)["weights"]["vector"] <= worth["high"]
    assert worth["questions"] > 100
    assert explained(mill, asked.model_copy(update={"vectors_weight": 0.5}))["vectors_weight_from"] == "request"
    again = mill.submit(WeighVectors(collection=collection, retriever="messages")).result(timeout=60)
    assert again.total == worth["questions"]
    assert [again.words, again.vectors] == pytest.approx([worth["words"], worth["vectors"]], abs=0.001)


def explained(mill: Querymill, asked: MessageSearch) -> Any:
    """The explanation of the first hit."""
    return mill.submit(asked).result(timeout=60).results[0].explanation
