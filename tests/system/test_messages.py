"""Messages from the client's call to the answer: real board, real database, real worker, scripted embeddings."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from querymill import (
    IngestSession,
    IngestSessionResult,
    JobFailed,
    MessageResult,
    MessageSearch,
    Querymill,
    UnknownCollection,
)
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine

SAMPLE = Path(__file__).parents[2] / "deploy/embedded/src/querymill_embedded/sample/sessions.jsonl"


@pytest.fixture
def collection(worker: WorkerProcess, openai_server: OpenAIServer) -> str:
    return f"chats-{uuid4().hex[:12]}"


def take_in(mill: Querymill, collection: str, *texts: str, session_id: str = "s") -> IngestSessionResult:
    given = session(session_id, *texts, name="Harbour", user_name="Ada")
    return mill.submit(IngestSession(collection=collection, session=given)).result(20)


def ask(mill: Querymill, collection: str, query: str, **fields: object) -> MessageResult:
    request = MessageSearch.model_validate({"collection": collection, "query": query, "deadline": 10} | fields)
    return mill.submit(request).result(15)


def away(request: object) -> Answer:
    return Answer(b"{}", status=503)


def test_a_message_is_found_by_what_it_means(mill: Querymill, collection: str) -> None:
    done = take_in(mill, collection, "the fleet counts nine ships", "soup for lunch")
    assert (done.outcome, done.total, done.embedded) == ("ingested", 4, 4)
    result = ask(mill, collection, "the fleet counts nine ships", similarity_threshold=None)
    best = result.results[0]
    assert (result.mode, result.searched, result.complete) == ("vector", "exact", True)
    assert (best.message_id, best.session_name, best.user_name, best.message_role) == ("a", "Harbour", "Ada", "user")
    assert best.raw_similarity == pytest.approx(1, abs=1e-5)
    assert best.band == "exact"
    assert {"queued_ms", "embed_ms", "search_ms"} <= set(result.timing)


def test_the_same_session_again_asks_the_provider_nothing(
    mill: Querymill, collection: str, openai_server: OpenAIServer
) -> None:
    take_in(mill, collection, "nine ships")
    openai_server.requests.clear()
    assert take_in(mill, collection, "nine ships").outcome == "unchanged"
    assert openai_server.seen("embeddings") == []


def test_while_the_embedding_server_is_down_the_words_answer_and_say_why(
    mill: Querymill, collection: str, openai_server: OpenAIServer
) -> None:
    take_in(mill, collection, "the fleet counts nine ships", "soup for lunch")
    openai_server.script.embeddings = away
    result = ask(mill, collection, f"how many ships {uuid4().hex}")
    assert (result.mode, result.complete, result.degraded[0].stage) == ("text", False, "embed")
    assert result.why is not None
    assert "embedding" in result.why
    assert [hit.message_id for hit in result.results] == ["a"]
    assert result.results[0].similarity == 0.5


def test_a_session_whose_vectors_cannot_be_had_is_found_by_its_words(
    mill: Querymill, collection: str, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = away
    given = session("s", f"the heron nests by the weir {uuid4().hex}")
    job = mill.submit(IngestSession(collection=collection, session=given))
    with pytest.raises(JobFailed):
        job.result(60)
    openai_server.reset()
    result = ask(mill, collection, "heron at the weir")
    assert result.mode == "text"  # the breaker is open still, or no row has a vector: either way
    assert [hit.session_id for hit in result.results] == ["s"]


def test_a_session_is_searched_alone(mill: Querymill, collection: str) -> None:
    take_in(mill, collection, "nine ships", session_id="s")
    take_in(mill, collection, "nine ships", session_id="t")
    for fields in ({}, {"hybrid": True}, {"include_context": True}):
        found = ask(mill, collection, "nine ships", session_id="t", similarity_threshold=None, **fields)
        assert {hit.session_id for hit in found.results} == {"t"}


def test_a_collection_nobody_ingested_is_refused_before_anything_is_enqueued(mill: Querymill, collection: str) -> None:
    with pytest.raises(UnknownCollection, match="no messages in"):
        mill.submit(MessageSearch(collection=collection, query="ships"))


@pytest.mark.usefixtures("openai_server")
def test_the_sample_is_loaded_and_searched_from_the_command_line(collection: str, querymill: CommandLine) -> None:
    loaded = querymill("ingest", "messages", SAMPLE, "--collection", collection, "--json")
    assert (loaded.returncode, json.loads(loaded.stdout)["ingested"]) == (0, 4), loaded.stderr
    asked = ("search", "messages", "粘虫板", "--collection", collection, "--similarity-threshold", "null")
    run = querymill(*asked, "--session-id", "garden-1", "--hybrid", "--limit", "3", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["kind"], found["mode"], found["similarity_threshold"]) == ("messages", "hybrid", None)
    assert found["results"][0]["message_id"] == "g4"
    assert len(found["results"]) == 3
    shown = querymill(*asked)
    assert "阳台种菜" in shown.stdout
    assert "searched: vector, exact" in shown.stdout


@pytest.mark.usefixtures("openai_server")
def test_a_bad_line_of_messages_is_named_and_the_rest_is_loaded(
    collection: str, querymill: CommandLine, tmp_path: Path
) -> None:
    good = {"session_id": "s", "started_at": "2026-01-01T00:00:00Z", "messages": [{"message_id": 0, "text": "ships"}]}
    twice = good | {"messages": [{"message_id": "a", "text": "x"}] * 2}
    path = tmp_path / "sessions.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (good, twice, {"session_id": "t"})), encoding="utf-8")
    run = querymill("ingest", "messages", path, "--collection", collection, "--json")
    assert run.returncode == 1
    done = json.loads(run.stdout)
    assert done["ingested"] == 1
    assert [bad["line"] for bad in done["bad_lines"]] == [2, 3]
    assert "every message_id must occur once" in done["bad_lines"][0]["reason"]
