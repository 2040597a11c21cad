"""Messages from the client's call to the answer: real board, real database, real worker, scripted embeddings."""

import json
import threading
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from querymill import IngestMessages, IngestMessagesResult, MessageResult, MessageSearch, Querymill
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine

SAMPLE = Path(str(resources.files("querymill_embedded") / "sample" / "sessions.jsonl"))


@pytest.fixture
def collection(worker: WorkerProcess, openai_server: OpenAIServer) -> str:
    return f"chats-{uuid4().hex[:12]}"


def take_in(mill: Querymill, collection: str, *texts: str, session_id: str = "s") -> IngestMessagesResult:
    """Ingest a session, and wait for its vectors."""
    given = session(session_id, *texts, name="Harbour", user_name="Ada")
    result = mill.submit(IngestMessages(collection=collection, documents=(given,))).result(20)
    if result.embedding_jobs:
        mill.job(result.embedding_jobs[0]).result(20)
    return result


def ask(mill: Querymill, collection: str, query: str, **fields: object) -> MessageResult:
    request = MessageSearch.model_validate(
        {"collection": collection, "query": query, "ranking": "vectors", "deadline": 10} | fields
    )
    return mill.submit(request).result(15)


def away(request: object) -> Answer:
    return Answer(b"{}", status=503)


@pytest.mark.parametrize(("ranking", "mode"), [("vectors", "vector"), ("best", "hybrid")])
def test_a_message_is_found_by_what_it_means(mill: Querymill, collection: str, ranking: str, mode: str) -> None:
    done = take_in(mill, collection, "the fleet counts nine ships", "soup for lunch")
    assert (done.documents[0].outcome, done.total) == ("ingested", 4)
    result = ask(mill, collection, "the fleet counts nine ships", ranking=ranking, similarity_threshold=None)
    best = result.results[0]
    assert (result.mode, result.searched, result.complete) == (mode, "exact", True)
    assert (best.message_id, best.session_name, best.user_name, best.message_role) == ("a", "Harbour", "Ada", "user")
    assert best.raw_similarity == pytest.approx(1, abs=1e-5)
    assert best.band == "exact"
    assert {"queued_ms", "embed_ms", "search_ms"} <= set(result.timing)


def test_the_same_session_again_asks_the_provider_nothing(
    mill: Querymill, collection: str, openai_server: OpenAIServer
) -> None:
    take_in(mill, collection, "nine ships")
    openai_server.requests.clear()
    assert take_in(mill, collection, "nine ships").documents[0].outcome == "unchanged"
    assert openai_server.seen("embeddings") == []


# By rule, "best" finds a message by the words of its neighbours too, below the message that has them.
@pytest.mark.parametrize(("ranking", "found"), [("vectors", ["a"]), ("best", ["a", "b"])])
def test_while_the_embedding_server_is_down_the_words_answer_and_say_why(
    mill: Querymill, collection: str, openai_server: OpenAIServer, ranking: str, found: list[str]
) -> None:
    take_in(mill, collection, "the fleet counts nine ships", "soup for lunch")
    openai_server.script.embeddings = away
    result = ask(mill, collection, f"how many ships {uuid4().hex}", ranking=ranking)
    assert (result.mode, result.complete, result.degraded[0].stage) == ("text", False, "embed")
    assert result.why is not None
    assert "embedding" in result.why
    assert [hit.message_id for hit in result.results] == found
    assert {hit.similarity for hit in result.results} == {0.5}


def test_a_session_whose_vectors_cannot_be_had_is_named_and_found_by_its_words(
    mill: Querymill, collection: str, openai_server: OpenAIServer, querymill: CommandLine, tmp_path: Path
) -> None:
    openai_server.script.embeddings = lambda _: Answer(b"{}", status=401)
    path = tmp_path / "sessions.jsonl"
    path.write_text(session("s", f"the heron nests by the weir {uuid4().hex}").model_dump_json(), encoding="utf-8")
    run = querymill("ingest", "messages", path, "--collection", collection, "--json")
    (failed,) = json.loads(run.stdout)["failed"]
    assert (run.returncode, failed["document"]) == (1, "s")
    assert "line 1: stored and searchable by text, but embedding failed: " in failed["reason"]
    assert "rejected: HTTP 401" in failed["reason"]
    openai_server.reset()
    result = ask(mill, collection, "heron at the weir")
    assert result.mode == "text"  # no row has a vector
    assert [hit.session_id for hit in result.results] == ["s"]


def slow_for(words: str, release: threading.Event) -> Callable[[dict[str, Any]], Answer]:
    """Hold back the passages that have these words until they are released."""

    def answer(request: dict[str, Any]) -> Answer:
        if request.get("input_type") == "passage" and any(words in text for text in request["input"]):
            release.wait(20)
        return embedded(request)

    return answer


def test_a_new_message_is_found_by_its_words_while_its_vector_is_made_and_by_the_vector_after(
    mill: Querymill, collection: str, openai_server: OpenAIServer
) -> None:
    unique = uuid4().hex
    take_in(mill, collection, f"soup for lunch {unique}", session_id="before")
    release = threading.Event()
    openai_server.script.embeddings = slow_for("heron", release)
    given = session("live", f"the heron nests {unique}", "nine ships")
    stored = mill.submit(IngestMessages(collection=collection, documents=(given,))).result(20)
    pending = ask(mill, collection, "where is the heron", similarity_threshold=0.99)
    assert (pending.mode, pending.skipped, pending.complete) == ("vector", 2, False)
    assert [(hit.message_id, hit.found_by, hit.similarity) for hit in pending.results] == [("a", ("words",), 0.5)]
    best = ask(mill, collection, "where is the heron", ranking="best", similarity_threshold=0.99)
    assert (best.mode, best.skipped, best.complete) == ("hybrid", 2, False)
    assert (best.results[0].message_id, best.results[0].found_by, best.results[0].similarity) == ("a", ("words",), 0.5)
    # Two messages more while the first embedding runs: one other waits, and misses neither.
    for count in (3, 4):
        texts = [f"the heron nests {unique}", "nine ships", *["a heron more", "and a heron"][: count - 2]]
        last = mill.submit(IngestMessages(collection=collection, documents=(session("live", *texts),))).result(20)
    assert last.embedding_jobs
    release.set()
    for job_id in (stored.embedding_jobs[0], last.embedding_jobs[0]):
        mill.job(str(job_id)).result(20)
    found = ask(mill, collection, f"the heron nests {unique}", session_id="live", similarity_threshold=None)
    assert (found.results[0].message_id, found.results[0].found_by, found.skipped) == ("a", ("vector",), 0)
    assert {hit.message_id for hit in found.results} == {"a", "b", "c", "d"}
    best = ask(mill, collection, f"the heron nests {unique}", session_id="live", ranking="best")
    assert (best.results[0].message_id, set(best.results[0].found_by)) == ("a", {"vector", "words"})


def test_a_session_is_searched_alone(mill: Querymill, collection: str) -> None:
    take_in(mill, collection, "nine ships", session_id="s")
    take_in(mill, collection, "nine ships", session_id="t")
    every: list[dict[str, object]] = [{}, {"hybrid": True}, {"include_context": True}, {"ranking": "best"}]
    for fields in every:
        found = ask(mill, collection, "nine ships", session_id="t", similarity_threshold=None, **fields)
        assert {hit.session_id for hit in found.results} == {"t"}


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
    assert "searched: hybrid, exact" in shown.stdout


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
