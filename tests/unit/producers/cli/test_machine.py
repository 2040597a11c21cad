"""How a worker of one's own is started, and which parts of the embedded stack the caller's settings stand for."""

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querymill.cli.exits import WrongUse
from querymill.cli.machine import read_queues, worker_command
from querymill.cli.main import app
from querymill.cli.stack import _gateway, parts_to_start, workers
from querymill_embedded import ALL, StackPart
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings


def test_all_queues_are_the_default_and_some_can_be_named() -> None:
    assert read_queues("all") == list(Queue)
    assert read_queues("ingest, embed,ingest") == [Queue.INGEST, Queue.EMBED]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("serach", "--queues: serach: no such queue; there are search, expand, ingest, embed, rerank, ranks, and all"),
        ("all,search", "--queues: all: no such queue"),
        (" ,", "--queues: names no queue"),
    ],
)
def test_a_queue_that_does_not_exist_is_named(written: str, said: str) -> None:
    with pytest.raises(WrongUse, match=said):
        read_queues(written)


def test_the_command_of_a_worker() -> None:
    command = worker_command([Queue.SEARCH, Queue.RERANK], threads=8, name="w1")
    assert command[command.index("-Q") + 1] == "search,rerank"
    assert command[command.index("-n") + 1] == "w1@%h"


def test_the_version_is_printed_without_a_command() -> None:
    printed = CliRunner().invoke(app, ["--version"])
    assert (printed.exit_code, printed.output.count(".")) == (0, 2)


@pytest.mark.parametrize(
    ("written", "left_out"),
    [
        ("OPENAI_API_KEY=sk\n", set()),
        ("OPENAI_BASE_URL=http://mine/v1\nCHAT_MODEL=mine\n", {StackPart.CHAT}),
        ("EMBEDDING_BASE_URL=http://mine/v1\n", {StackPart.EMBEDDINGS}),
        # What `querymill up` printed before leads to servers that are gone.
        ("OPENAI_BASE_URL=http://127.0.0.1:1/v1\nOPENAI_API_KEY=embedded\nCHAT_MODEL=smollm2-135m-instruct\n", set()),
        ("OPENAI_BASE_URL=http://mine/v1\nOPENAI_API_KEY=embedded\nCHAT_MODEL=mine\n", {StackPart.CHAT}),
        (
            "EMBEDDING_BASE_URL=http://127.0.0.1:1/v1\nEMBEDDING_API_KEY=embedded\n"
            "EMBEDDING_MODEL=multilingual-e5-small\n",
            set(),
        ),
        ("CHAT_MODEL_FILE=model\nEMBEDDING_MODEL=mine\n", {StackPart.CHAT, StackPart.EMBEDDINGS}),
    ],
)
def test_no_model_server_is_started_where_the_caller_names_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, left_out: set[StackPart]
) -> None:
    for name in ("OPENAI_BASE_URL", "CHAT_MODEL", "EMBEDDING_BASE_URL", "EMBEDDING_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(written)
    assert parts_to_start() == set(ALL) - left_out


def test_no_setting_of_the_caller_leads_a_program_of_the_stack_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "CHAT_MODEL", "EMBEDDING_BASE_URL", "EMBEDDING_MODEL", "CHAT_RPM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("REDIS_URL=redis://prod:6379/0\nOPENAI_API_KEY=sk\nCHAT_RPM=60\n")
    (tmp_path / "database").write_text("postgresql://prod/x")
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "database"))
    for program in workers({}):
        assert program.environment["CHAT_RPM"] == "60"
        assert not {"REDIS_URL", "OPENAI_API_KEY"} & program.environment.keys()
        for name, value in program.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("DATABASE_URL", "postgresql://embedded/x")
        assert Settings().database_url.get_secret_value() == "postgresql://embedded/x"


def test_up_refuses_a_port_that_another_process_has(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        done = CliRunner().invoke(app, ["up", "--data", str(tmp_path / "stack"), "--port", str(taken)])
    assert isinstance(done.exception, WrongUse)
    assert str(done.exception).startswith(f"--port: {taken} is taken by another process; give a free port")
    assert not (tmp_path / "stack").exists()


def test_the_console_of_the_stack_may_show_files_at_home_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUERYMILL_DOCUMENT_FOLDERS", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert json.loads(_gateway(8080).environment["QUERYMILL_DOCUMENT_FOLDERS"]) == [str(tmp_path)]
    (tmp_path / ".env").write_text("QUERYMILL_DOCUMENT_FOLDERS=[]\n")
    assert _gateway(8080).environment["QUERYMILL_DOCUMENT_FOLDERS"] == "[]"
    monkeypatch.setenv("HOME", "/")  # of an account without a home: that would be every file
    (tmp_path / ".env").unlink()
    assert "QUERYMILL_DOCUMENT_FOLDERS" not in _gateway(8080).environment
