"""A text that the provider refuses, on the command line: named with its reason, and tried again."""

import json
from typing import Any
from uuid import uuid4

import pytest

from querymill import IngestSession, Querymill
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine

REFUSED = "a text that the provider cannot read"


def refusing(request: dict[str, Any]) -> Answer:
    if any(REFUSED in text for text in request["input"]):
        error = {"error": {"message": f"cannot embed: {REFUSED}", "type": "invalid_request_error"}}
        return Answer(json.dumps(error).encode(), status=400)
    return embedded(request)


@pytest.mark.usefixtures("worker")
def test_a_refused_text_is_listed_without_being_shown_and_tried_again_by_reembed(
    mill: Querymill, querymill: CommandLine, openai_server: OpenAIServer
) -> None:
    collection = f"chats-{uuid4().hex[:12]}"
    openai_server.script.embeddings = refusing
    request = IngestSession(collection=collection, session=session("s", "the fleet counts ships", REFUSED, "soup"))
    stored = mill.submit(request).result(timeout=30)
    embedding = mill.job(str(stored.embedding_job)).result(timeout=30)
    refused = stored.total - embedding.total  # the message, and the contexts that quote it
    assert (refused > 0, embedding.total > 0, embedding.complete) == (True, True, False)
    listed = querymill("status", "--set-aside", "--collection", collection, "--json")
    texts = json.loads(listed.stdout)
    assert {(text["collection"], text["document"]) for text in texts} == {(collection, "s")}
    assert len(texts) == refused
    printed = querymill("status", "--set-aside", "--collection", collection)
    assert all(text["reason"].startswith("embedding rejected: HTTP 400: cannot embed") for text in texts)
    assert printed.stdout.count("embedding rejected: HTTP 400:") == refused
    # A table wraps a reason, so its words are looked for one by one.
    assert all(word in printed.stdout for text in texts for word in text["reason"].split())
    assert REFUSED not in listed.stdout + printed.stdout

    openai_server.script.embeddings = embedded
    again = querymill("reembed", "messages", "--collection", collection, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["total"] == refused
    assert querymill("status", "--set-aside", "--collection", collection).stdout == "no text is set aside\n"
