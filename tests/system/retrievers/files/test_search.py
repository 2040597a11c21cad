"""An iterative search from the client's call to the answer: real board, real store, a real worker."""

import json
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest

from querymill import FileSearch, IngestFiles, JobFailed, Querymill, SourceFile
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.events import Done, SearchRound
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, embedding_answer
from tests.fakes.vectors import vector_of
from tests.fakes.worker import WorkerProcess
from tests.fixtures.boards import board_of
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment, finish_embedding

FILES = {
    "transport/virtual.py": "class QoS:\n    def restore_unacked(self):\n        return self.channel.put_back()\n",
    "transport/redis.py": "from transport.virtual import QoS\nfrom utils.locking import Mutex\n\n\n"
    "class RedisQoS(QoS):\n    def restore_unacked_messages(self):\n        with Mutex(self.client):\n"
    "            restore_visible()\n",
    "utils/locking.py": "class Mutex:\n    def __enter__(self):\n        return self\n",
    "utils/colours.py": "def paint(text):\n    return text\n",
}
QUERY = "restore unacked messages"


@pytest.fixture
def code(worker: WorkerProcess, mill: Querymill) -> str:
    """A code base of four files, ingested through the workers."""
    collection = f"code{uuid4().hex[:8]}"
    files = tuple(SourceFile(path=path, content=content) for path, content in FILES.items())
    mill.submit(IngestFiles(collection=collection, documents=files, vectors=True)).result(timeout=60)
    return collection


def test_rounds_are_told_as_they_end_and_the_answer_says_why(mill: Querymill, code: str) -> None:
    job = mill.submit(FileSearch(query=QUERY, collection=code))
    events = list(job.events(timeout=30))
    told = [event for event in events if isinstance(event, SearchRound)]
    result = job.result(timeout=20)
    assert [round_.round for round_ in told] == [round_.round for round_ in result.rounds]
    assert "Mutex" in told[0].gaps
    assert told[-1].stop == result.stop
    assert events[-1] == Done(complete=True)
    first = result.results[0]
    assert (first.path, first.band) == ("transport/redis.py", "high")
    assert "restore_unacked_messages" in first.why
    assert "Mutex" in result.patterns
    assert "Mutex" not in result.gaps
    assert result.files_read == sum(round_.evaluated for round_ in result.rounds)
    assert "restore_visible()" in result.context
    assert (
        result.token_account.spent <= result.token_account.all_candidates + result.token_account.listing + 150
    )  # paths, fences and the map


def test_a_question_in_chinese_finds_english_code_by_the_vectors_that_a_small_code_base_has_unasked(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer
) -> None:
    """The model knows that the question means one definition; no word of it is in the code, or in the synonyms."""
    collection, seen = f"code{uuid4().hex[:8]}", list[str]()

    def embed(request: dict[str, Any]) -> Answer:
        seen.extend(request["input"])
        meant = [text for text in seen if "def restore_unacked_messages" in text]
        return embedding_answer(
            [vector_of(meant[0] if "搁浅" in text and meant else text).tolist() for text in request["input"]]
        )

    openai_server.script.embeddings = embed
    files = tuple(SourceFile(path=path, content=content) for path, content in FILES.items())
    mill.submit(IngestFiles(collection=collection, documents=files)).result(timeout=60)
    finish_embedding(mill)
    result = mill.submit(FileSearch(query="搁浅货物", collection=collection)).result(timeout=30)
    assert result.complete, result.degraded
    first = result.results[0]
    assert (first.path, first.explanation["evidence"]["vector"]) == ("transport/redis.py", pytest.approx(1.0, abs=1e-3))
    assert "vectors" in first.found_by


def test_a_worker_that_starts_makes_code_bases_known_to_a_board_that_was_emptied(
    deployment: Deployment, code: str
) -> None:
    elsewhere = deployment.settings.redis_url.removesuffix("/2") + "/4"
    with (
        WorkerProcess(deployment.environment | {"REDIS_URL": elsewhere}),
        Querymill(redis_url=elsewhere, settings=deployment.settings) as other,
    ):
        assert code in board_of(other).collections("files")


def test_patterns_run_on_the_store_and_one_that_it_refuses_is_named(mill: Querymill, code: str) -> None:
    asked = FileSearch(
        query=QUERY, collection=code, patterns=("def pa.nt", "x*"), globs=("utils/*.py",), mode="oneshot"
    )
    result = mill.submit(asked).result(timeout=30)
    found = {hit.path: hit.found_by for hit in result.results}
    assert found["utils/colours.py"] == ("pattern def pa.nt", "glob utils/*.py")
    assert not result.complete
    assert "x*" in result.degraded[0].reason


def test_vectors_join_once_they_are_there(mill: Querymill, code: str) -> None:
    asked = FileSearch(query=QUERY, collection=code, channels=("words", "vectors"))
    for _ in range(100):
        result = mill.submit(asked).result(timeout=30)
        if result.complete:
            break
    assert result.complete, result.degraded
    assert result.results[0].explanation["evidence"]["vector"] > 0


def test_a_judge_that_is_away_leaves_the_default_evaluator(
    mill: Querymill, code: str, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: chat_answer("no JSON at all")
    result = mill.submit(FileSearch(query=QUERY, collection=code, evaluator="judge", rounds=1)).result(timeout=40)
    assert result.results[0].path == "transport/redis.py"
    assert not result.complete
    assert "the default evaluator stands in" in result.degraded[0].reason


def test_a_deadline_that_nothing_can_meet_is_said(mill: Querymill, deployment: Deployment, code: str) -> None:
    with closing(ValkeyBoard.connect(deployment.settings)) as board:
        # Without a bell, no worker begins it in time.
        job_id, _ = board.submit(FileSearch(query=QUERY, collection=code, deadline=0.05))
    with pytest.raises(JobFailed, match="cut by the deadline"):
        mill.job(job_id).result(timeout=30)


def test_the_command_line_shows_the_files_and_what_they_cost(querymill: CommandLine, code: str) -> None:
    shown = querymill("search", "files", QUERY, "--collection", code)
    assert shown.returncode == 0, shown.stderr
    assert "round 1" in shown.stdout
    assert "transport/redis.py" in shown.stdout
    assert "tokens" in shown.stdout
    run = querymill("search", "files", QUERY, "--collection", code, "--rounds", "1", "--json")
    assert len(json.loads(run.stdout)["rounds"]) == 1
    bad = querymill("search", "files", QUERY, "--collection", code, "--pattern", "(?=a)")
    assert bad.returncode == 2
    assert "patterns" in bad.stderr
