"""A message that the provider answers with HTTP 500, on the command line: nobody else is affected, and it is named."""

import json
import time
from pathlib import Path
from uuid import uuid4

import pytest

from querymill import MessageSearch, Querymill
from tests.fakes.openai_server import Answer, OpenAIServer, ill
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine

ILL = "xyzzy"
SAID = "failed to encode response: json: unsupported value: NaN"
NAN = Answer(json.dumps({"error": {"message": SAID, "type": "api_error"}}).encode(), status=500)


@pytest.mark.nightly
@pytest.mark.usefixtures("worker")
def test_one_ill_message_costs_its_session_no_other_vector_and_other_collections_nothing(
    mill: Querymill, querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    name = uuid4().hex[:12]
    other, ill_one = f"other-{name}", f"ill-{name}"
    path = tmp_path / "sessions.jsonl"
    path.write_text(session("s", *(f"weld the hull of barge {number}" for number in range(20))).model_dump_json())
    assert querymill("ingest", "messages", path, "--collection", other).returncode == 0

    openai_server.script.is_well = True
    openai_server.script.embeddings = ill(ILL, NAN)
    said = [f"weld the hull of barge {number}" + f" {ILL}" * (number == 20) for number in range(40)]
    path.write_text(session("s", *said, ids=[f"m{number}" for number in range(40)]).model_dump_json())
    command = querymill.begin("ingest", "messages", path, "--collection", ill_one)
    asked, stop = 0, time.monotonic() + 50
    try:
        while command.poll() is None:
            assert time.monotonic() < stop
            asked += 1
            request = MessageSearch(query=f"weld the hull {asked}", collection=other, deadline=20)
            found = mill.submit(request).result(timeout=30)
            assert (found.searched, found.degraded) == ("exact", ())
    finally:
        command.kill()
        command.wait()
    assert asked > 0
    texts = json.loads(querymill("status", "--set-aside", "--collection", ill_one, "--json").stdout)
    assert 1 <= len(texts) <= 6, "the message, and the contexts that hold it"
    assert {text["reason"] for text in texts} == {f"embedding rejected: HTTP 500: {SAID}"}
