"""Answers on the command line: as they come, at the end, as JSON, and wrong use."""

import json
import os
import pty
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.fakes.answers import judgement
from tests.fakes.openai_server import OpenAIServer, chat_stream
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.system.services.test_answers import HITS, saying
from tests.system.services.test_rerank import write


@pytest.mark.usefixtures("worker")
def test_the_command_answers_from_a_file(querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.script.chat = saying("Nine ships [1][9]. Fast ones.", judged=judgement(0.5, 1, 1, 2))
    path = write(tmp_path / "hits.json", {"query": "how many ships?", "hits": HITS})
    run = querymill("answer", path, "--judge")
    assert run.returncode == 0, run.stderr
    assert "Nine ships [1]. Fast ones." in run.stdout
    assert "[1] Fleet, page 3" in run.stdout
    assert "they name no passage: [9]" in run.stdout
    assert "grounded 0.50 · relevant 1.00 · complete 1.00" in run.stdout
    assert "no passage supports: Fast ones." in run.stdout


@pytest.mark.usefixtures("worker")
def test_the_command_prints_one_object(querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.script.chat = saying("Nine ships [1].")
    path = write(tmp_path / "hits.json", {"query": "how many ships?", "hits": HITS})
    run = querymill("answer", path, "--json", "--answer-tokens", "99")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["kind"], found["state"], found["complete"]) == ("answer", "done", True)
    assert found["answer"]["text"] == "Nine ships [1]."
    assert found["answer"]["citations"] == [{"number": 1, "id": "fleet", "page": 3, "title": "Fleet"}]
    assert openai_server.seen("completions")[0]["max_completion_tokens"] == 99


@pytest.mark.usefixtures("filings")
def test_a_search_prints_its_answer_before_the_hits(querymill: CommandLine, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = saying("Forty million [1].")
    run = querymill(
        "search", "reports", "Nordhav 2022: revenue rose to?", "--collection", "filings", "--answer", "--judge"
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.index("Forty million [1].") < run.stdout.index("Nordhav Shipping 2022, page") < len(run.stdout)
    assert "judged: grounded 0.90" in run.stdout


@pytest.mark.usefixtures("worker")
def test_on_a_terminal_the_answer_is_seen_as_it_comes(
    deployment: Deployment, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    alpha_is_seen, seen_in_time = threading.Event(), list[bool]()

    def gate(sent: int) -> None:
        time.sleep(0.2)
        if sent == 3:  # "delta", which comes long after "alpha" was shown
            seen_in_time.append(alpha_is_seen.wait(15))

    openai_server.script.chat = lambda request: chat_stream("alpha ", "beta ", "gamma ", "delta [1]", gate=gate)
    path = write(tmp_path / "hits.json", {"query": "how many ships?", "hits": HITS})
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("querymill")), "answer", str(path)]
    environment = os.environ | deployment.environment | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        told = ""
        until = time.monotonic() + 60
        while "from 2 hits" not in told and time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    told += os.read(ours, 65536).decode(errors="replace")
                except OSError:
                    break
            if "alpha" in told:
                alpha_is_seen.set()
        process.wait(timeout=60)
    os.close(ours)
    assert process.returncode == 0, told
    assert seen_in_time == [True]
    assert "delta" in told


@pytest.mark.usefixtures("worker")
def test_an_answer_that_is_not_written_is_quoted_and_no_failure_of_the_command(
    querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.script.chat = lambda request: chat_stream(" ")
    run = querymill("answer", write(tmp_path / "hits.json", {"query": "how many ships?", "hits": HITS}))
    assert run.returncode == 0, run.stderr
    assert "quoted from the hits; no chat model wrote it" in run.stdout
    assert "degraded: write: the answer is a quotation: chat model: empty reply" in run.stdout


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ({"hits": [{"id": 1, "text": "t"}]}, (), "query: Field required"),
        ({"query": "q", "hits": [{"id": 1, "text": "t"}]}, ("--answer-tokens", "1"), "answer_tokens: "),
        ("[]", (), "must hold one JSON object"),
    ],
)
def test_a_bad_file_exits_with_two_and_names_the_field_and_the_rule(
    querymill: CommandLine, tmp_path: Path, content: object, options: tuple[str, ...], message: str
) -> None:
    run = querymill("answer", write(tmp_path / "hits.json", content), *options)
    assert run.returncode == 2, run.stdout + run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_a_judge_without_an_answer_is_wrong_use(querymill: CommandLine) -> None:
    run = querymill("search", "reports", "q", "--collection", "filings", "--judge")
    assert run.returncode == 2
    assert "judge: needs answer" in run.stderr
