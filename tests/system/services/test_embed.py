"""Files of texts through the command line, and single jobs through the client: vectors, rows, and what goes wrong."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from querymill import EmbedTexts, Querymill, TextToEmbed, UnknownJob
from querymill.cli.bulk.appended_file import UnusableFile
from querymill.cli.bulk.embed_file import IN_FLIGHT, Backfill, EmbedOptions, FileSlice, read_pieces
from querymill.cli.bulk.vector_file import VectorFile
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import all_at_night

pytestmark = pytest.mark.usefixtures("worker", "openai_server")


@pytest.fixture
def texts() -> dict[str, str]:
    """Ten texts that no cache has seen."""
    run = uuid4().hex
    return {f"t{number}": f"text {number} of {run}" for number in range(10)}


def write(path: Path, texts: dict[str, str], *raw: str) -> Path:
    lines = [json.dumps({"_id": text_id, "text": text}) for text_id, text in texts.items()]
    path.write_text("\n".join([*lines, *raw]) + "\n", encoding="utf-8")
    return path


def vectors(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = {line["_id"]: np.array(line["embedding"], np.float32) for line in lines}
    assert len(found) == len(lines)
    return found


def assert_right(path: Path, texts: dict[str, str]) -> None:
    found = vectors(path)
    assert list(found) == list(texts)
    for text_id, text in texts.items():
        assert np.array_equal(found[text_id], vector_of(text))


def asked(server: OpenAIServer) -> list[str]:
    return [text for request in server.seen("embeddings") for text in request["input"]]


def test_a_file_of_texts_becomes_a_file_of_vectors(
    querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    path, out = write(tmp_path / "texts.jsonl", texts), tmp_path / "vectors.jsonl"
    run = querymill("embed", path, "--out", out, "--json")
    assert run.returncode == 0, run.stderr
    done = json.loads(run.stdout)
    assert (done["texts"], done["embedded"], done["there_already"]) == (10, 10, 0)
    assert (done["model"], done["dimensions"]) == ("multilingual-e5-small", DIMENSIONS)
    assert_right(out, texts)
    assert {request["input_type"] for request in openai_server.seen("embeddings")} == {"passage"}


def test_running_it_again_embeds_nothing(
    querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    path, out = write(tmp_path / "texts.jsonl", texts), tmp_path / "vectors.jsonl"
    querymill("embed", path, "--out", out)
    first = out.read_bytes()
    openai_server.reset()
    run = querymill("embed", path, "--out", out)
    assert (run.returncode, out.read_bytes(), openai_server.requests) == (0, first, [])
    assert "0 embedded, 10 there already" in run.stdout


def test_queries_are_embedded_as_queries(
    querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    path = write(tmp_path / "texts.jsonl", texts)
    assert querymill("embed", path, "--out", tmp_path / "out", "--input-type", "query").returncode == 0
    assert {request["input_type"] for request in openai_server.seen("embeddings")} == {"query"}


def test_bad_lines_are_reported_with_number_and_rule_and_the_rest_is_embedded(
    querymill: CommandLine, tmp_path: Path, texts: dict[str, str]
) -> None:
    raw = ['{"_id": "t3", "text": "again"}', "{", '{"_id": "blank", "text": " "}', '{"_id": "last", "text": "last"}']
    path, out = write(tmp_path / "texts.jsonl", texts, *raw), tmp_path / "vectors.jsonl"
    run = querymill("embed", path, "--out", out, "--json")
    assert run.returncode == 1
    assert [bad["line"] for bad in json.loads(run.stdout)["bad_lines"]] == [11, 12, 13]
    assert "line 11: _id: must be unique; line 4 has the same" in run.stderr
    assert_right(out, texts | {"last": "last"})


def test_rows_of_the_table_are_written_and_unchanged_ones_left(
    querymill: CommandLine,
    openai_server: OpenAIServer,
    database: psycopg.Connection,
    tmp_path: Path,
    texts: dict[str, str],
) -> None:
    collection = f"c{uuid4().hex}"
    path = write(tmp_path / "texts.jsonl", texts)
    arguments = ("embed", path, "--table", "--collection", collection, "--json")
    done = json.loads(querymill(*arguments).stdout)
    assert (done["embedded"], done["unchanged"]) == (10, 0)
    write(path, texts | {"t4": "another text"})
    done = json.loads(querymill(*arguments).stdout)
    assert (done["embedded"], done["unchanged"]) == (1, 9)
    assert asked(openai_server)[10:] == ["another text"]
    rows = database.execute(
        "SELECT text_id, embedding::real[] FROM text_vectors WHERE collection = %s", [collection]
    ).fetchall()
    assert len(rows) == 10
    for text_id, floats in rows:
        assert np.array_equal(np.array(floats, np.float32), vector_of((texts | {"t4": "another text"})[text_id]))


def test_what_failed_is_named_and_embedded_by_the_next_run(
    querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    path, out = write(tmp_path / "texts.jsonl", texts), tmp_path / "vectors.jsonl"
    openai_server.script.embeddings = lambda request: Answer(b"{}", status=400)
    run = querymill("embed", path, "--out", out, "--json")
    assert run.returncode == 1
    (failed,) = json.loads(run.stdout)["failed"]
    assert failed["lines"] == "1-10"
    assert "HTTP 400" in failed["reason"]
    assert out.read_bytes() == b""
    openai_server.reset()
    assert querymill("embed", path, "--out", out).returncode == 0
    assert_right(out, texts)


def test_collected_results_do_not_stay_on_the_board(mill: Querymill, tmp_path: Path, texts: dict[str, str]) -> None:
    path = write(tmp_path / "texts.jsonl", texts)
    with VectorFile(tmp_path / "first") as file:
        (advance,) = (a for a in Backfill(mill, EmbedOptions("c"), file).run(read_pieces(path)) if a.result)
    assert advance.result is not None
    with pytest.raises(UnknownJob):
        mill.job(advance.result.job_id).picture()
    # With that job its idempotency key is gone: another file of the same texts starts the work again.
    with VectorFile(tmp_path / "second") as file:
        list(Backfill(mill, EmbedOptions("c"), file).run(read_pieces(path)))
    assert_right(tmp_path / "second", texts)


def test_a_result_that_expires_before_it_is_read_is_asked_for_again(
    mill: Querymill, tmp_path: Path, texts: dict[str, str]
) -> None:
    first, *others = read_pieces(write(tmp_path / "texts.jsonl", texts), texts_per_job=5)

    def expiring() -> Iterator[FileSlice]:
        yield first
        (job,) = mill.recent(limit=1)
        job.result(timeout=20)
        assert job.release()
        yield from others

    with VectorFile(tmp_path / "out") as file:
        list(Backfill(mill, EmbedOptions("c"), file).run(expiring()))
    assert_right(tmp_path / "out", texts)


def test_a_run_that_follows_joins_the_jobs_under_way(
    mill: Querymill, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    path, go = write(tmp_path / "texts.jsonl", texts), threading.Event()
    openai_server.script.embeddings = lambda request: (go.wait(1.5), embedded(request))[1]
    with VectorFile(tmp_path / "out") as file:
        abandoned = Backfill(mill, EmbedOptions("c"), file).run(read_pieces(path, texts_per_job=5))
        launch = threading.Thread(target=lambda: next(abandoned))
        launch.start()
        while len(asked(openai_server)) < 10:
            time.sleep(0.01)
        followed = Backfill(mill, EmbedOptions("c"), file).run(read_pieces(path, texts_per_job=5))
        go.set()
        list(followed)
        launch.join()
    assert_right(tmp_path / "out", texts)
    assert sorted(asked(openai_server)) == sorted(texts.values())


def test_only_a_few_jobs_are_in_flight(
    mill: Querymill, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    pieces = list(read_pieces(write(tmp_path / "texts.jsonl", texts), texts_per_job=1))
    drawn: list[FileSlice] = []

    def counted() -> Iterator[FileSlice]:
        for piece in pieces:
            drawn.append(piece)
            yield piece

    with VectorFile(tmp_path / "out") as file:
        run = Backfill(mill, EmbedOptions("c"), file).run(counted())
        next(run)
        assert len(drawn) == IN_FLIGHT < len(pieces)
        list(run)
    assert_right(tmp_path / "out", texts)


def test_vectors_of_two_models_do_not_meet_in_one_file(
    deployment: Deployment, mill: Querymill, worker: WorkerProcess, tmp_path: Path, texts: dict[str, str]
) -> None:
    first, second = read_pieces(write(tmp_path / "texts.jsonl", texts), texts_per_job=5)
    other = deployment.environment | {"EMBEDDING_MODEL": "other", "QUERYMILL_EMBEDDING_DIMENSIONS": str(DIMENSIONS)}

    def changing() -> Iterator[FileSlice]:
        yield first
        mill.recent(limit=1)[0].result(timeout=20)
        worker.kill()
        process.start()
        yield second

    process = WorkerProcess(other)
    try:
        with VectorFile(tmp_path / "out") as file, pytest.raises(UnusableFile, match="to other during the run"):
            list(Backfill(mill, EmbedOptions("c"), file).run(changing()))
    finally:
        process.kill()
        worker.start()
    assert list(vectors(tmp_path / "out")) == [text.id for text in first.texts]


def test_the_client_gets_vectors_without_a_file(mill: Querymill, texts: dict[str, str]) -> None:
    items = tuple(TextToEmbed(id=text_id, text=text) for text_id, text in texts.items())
    result = mill.submit(EmbedTexts(collection="c", texts=items)).result(timeout=20)
    assert np.array_equal(np.array(result.embedding("t7"), np.float32), vector_of(texts["t7"]))


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("texts.jsonl",), "--out FILE or --table"),
    (("texts.jsonl", "--out", "out", "--table"), "--out FILE or --table"),
    (("missing.jsonl", "--out", "out"), "path: "),
    ((".", "--out", "out"), "path: "),
    (("texts.jsonl", "--out", "texts.jsonl"), "line 1 is no line of"),
    (("texts.jsonl", "--out", "missing/out"), "--out: "),
    (("texts.jsonl", "--out", "out", "--collection", "a b"), "collection: "),
    (("texts.jsonl", "--out", "out", "--input-type", "prose"), "input_type: "),
    (("empty.jsonl", "--out", "out"), "no line that can be embedded"),
]


@pytest.mark.parametrize(("arguments", "message"), all_at_night(WRONG, short=WRONG[::4]))
def test_wrong_use_exits_with_two_and_says_what(
    querymill: CommandLine,
    openai_server: OpenAIServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    content = write(tmp_path / "texts.jsonl", {"a": "ships"}).read_bytes()
    (tmp_path / "empty.jsonl").touch()
    run = querymill("embed", *arguments)
    assert run.returncode == 2, run.stdout + run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert (tmp_path / "texts.jsonl").read_bytes() == content
    assert openai_server.requests == []
