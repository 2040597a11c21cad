"""A backfill whose workers and whose command line are killed: nothing lost, nothing doubled, little asked twice."""

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.vectors import vector_of
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.faults import stepping_aside
from tests.fixtures.tallies import until

TEXTS = 2_000
#: More than the command line hands over at once: some are only asked for after others are in the file.
MANY = 3_000
BAD_LINES = {3: "{", 700: '{"_id": "t1", "text": "again"}', 1999: '{"_id": "blank", "text": ""}'}


@pytest.fixture(scope="module")
def victim(deployment: Deployment, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """A worker to kill, as `querymill up` starts one for embedding; the one of the other tests steps aside."""
    with stepping_aside(worker, deployment.environment, queues="ingest,embed", threads=2) as process:
        yield process


@pytest.fixture
def texts(tmp_path: Path) -> dict[str, str]:
    """Texts that no cache has seen, in a file with some bad lines among them."""
    return written(tmp_path / "texts.jsonl", TEXTS)


def written(path: Path, count: int) -> dict[str, str]:
    run = uuid4().hex
    texts = {f"t{number}": f"text {number} of {run}" for number in range(count)}
    lines = [json.dumps({"_id": text_id, "text": text}) for text_id, text in texts.items()]
    for number, line in BAD_LINES.items():
        lines.insert(number - 1, line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return texts


def seen(server: OpenAIServer) -> Counter[str]:
    return Counter(text for request in server.seen("embeddings") for text in request["input"])


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.nightly
def test_a_backfill_killed_everywhere_has_each_vector_once(
    querymill: CommandLine, victim: WorkerProcess, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    path, out = tmp_path / "texts.jsonl", tmp_path / "vectors.jsonl"
    texts = written(path, MANY)
    killed = threading.Event()
    # What the first kill interrupted is done last, and the file waits for it. Slow from then on until the last
    # kill, so that it comes before the end however busy the machine is.
    openai_server.script.embeddings = lambda request: Answer(
        embedded(request).body, after_s=1.0 if lines_in(out) > 0 and not killed.is_set() else 0.05
    )
    command = ("embed", path, "--out", out)
    running = querymill.begin(*command)
    until(lambda: len(seen(openai_server)) > 100, within_s=90)
    victim.kill()  # before a single vector is in the file
    victim.start()
    until(lambda: lines_in(out) > 0, within_s=90)
    running.kill()
    running.wait()
    running = querymill.begin(*command)
    until(lambda: len(seen(openai_server)) > 2_100, within_s=90)
    victim.kill()
    victim.start()
    until(lambda: lines_in(out) > 800, within_s=90)
    running.kill()
    running.wait()
    killed.set()

    run = querymill(*command, "--json")
    assert run.returncode == 1, run.stderr
    done = json.loads(run.stdout)
    assert (done["failed"], [bad["line"] for bad in done["bad_lines"]]) == ([], sorted(BAD_LINES))
    assert 800 < done["there_already"] < MANY
    assert done["embedded"] + done["there_already"] == MANY
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["_id"] for line in lines] == list(texts)
    for line in lines:
        assert np.array_equal(np.array(line["embedding"], np.float32), vector_of(texts[line["_id"]]))
    asked = seen(openai_server)
    assert set(asked) == set(texts.values())
    assert max(asked.values()) <= 1 + 2  # the worker's kills; those of the command line cost nothing


@pytest.mark.nightly  # by day: system/services/test_embed.py, which runs again
def test_a_line_torn_by_a_kill_costs_no_text(
    querymill: CommandLine, victim: WorkerProcess, openai_server: OpenAIServer, tmp_path: Path, texts: dict[str, str]
) -> None:
    path, out = tmp_path / "texts.jsonl", tmp_path / "vectors.jsonl"
    querymill("embed", path, "--out", out)
    whole = out.read_bytes()
    out.write_bytes(whole[: random.Random(7).randrange(len(whole) // 2, len(whole))])
    querymill("embed", path, "--out", out)
    assert out.read_bytes() == whole
    assert max(seen(openai_server).values()) == 1


@pytest.mark.nightly
def test_a_table_backfill_killed_half_way_asks_for_no_row_that_was_written(
    querymill: CommandLine,
    victim: WorkerProcess,
    openai_server: OpenAIServer,
    database: psycopg.Connection,
    tmp_path: Path,
    texts: dict[str, str],
) -> None:
    openai_server.script.embeddings = lambda request: Answer(embedded(request).body, after_s=0.05)
    collection = f"c{uuid4().hex}"
    command = ("embed", tmp_path / "texts.jsonl", "--table", "--collection", collection)
    running = querymill.begin(*command)
    for reached in (200, 1_000):
        until(lambda reached=reached: len(seen(openai_server)) > reached, within_s=90)  # type: ignore[misc]
        victim.kill()
        victim.start()
    running.kill()
    running.wait()
    done = json.loads(querymill(*command, "--json").stdout)
    assert (done["failed"], done["embedded"] + done["unchanged"]) == ([], TEXTS)
    statement = "SELECT count(*), count(DISTINCT text_id) FROM text_vectors WHERE collection = %s"
    assert database.execute(statement, [collection]).fetchone() == (TEXTS, TEXTS)
    asked = seen(openai_server)
    assert set(asked) == set(texts.values())
    assert asked.total() - TEXTS <= 2 * 2 * 32  # per kill the slices under way, one in each thread
