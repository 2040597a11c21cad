"""The logs of a stack: what each line says, in one order of time, and what comes while somebody looks."""

import doctest
import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querymill.cli import log_reading, logs
from querymill.cli.log_reading import LogLine, chosen, in_order, read_line, shown
from querymill.cli.main import app

JOB = "4f0c9a1e" * 4
WORKER = json.dumps({
    "event": "job ended", "level": "warning", "timestamp": "2026-11-27T17:00:01.500000Z", "job_id": JOB, "took_s": 2,
})  # fmt: skip
POSTGRES = """2026-11-27 17:00:00.250 UTC [7] LOG:  starting PostgreSQL
\tits second line
2026-11-27 17:00:02.000 UTC [7] FATAL:  no role"""
VALKEY = "11998:M 27 Nov 2026 17:00:01.053 # WARNING Memory overcommit must be enabled!"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a stack that wrote logs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, text in {"worker-search": WORKER, "postgres": POSTGRES, "valkey": VALKEY, "leash": "x"}.items():
        (folder / f"{name}.log").write_text(f"{text}\n")
    return tmp_path


def run(data: Path, *arguments: str) -> list[str]:
    done = CliRunner().invoke(app, ["logs", "--data", str(data), *arguments])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_the_examples_hold() -> None:
    assert doctest.testmod(log_reading).failed == 0


@pytest.mark.parametrize(
    ("written", "level", "text"),
    [
        (WORKER, "warning", "job ended"),
        (VALKEY, "warning", "WARNING Memory overcommit must be enabled!"),
        (POSTGRES.splitlines()[0], "info", "[7] LOG:  starting PostgreSQL"),
        (POSTGRES.splitlines()[2], "critical", "[7] FATAL:  no role"),
        ("llama: ERROR in a kernel", "error", "llama: ERROR in a kernel"),
        ('{"event": 1', "info", '{"event": 1'),
        ("plain words", "info", "plain words"),
    ],
)
def test_a_line_is_read_whoever_wrote_it(written: str, level: str, text: str) -> None:
    line = read_line("p", written)
    assert (line.level, line.text) == (level, text)


def test_lines_without_a_time_follow_theirs() -> None:
    lines = [read_line("postgres", line) for line in POSTGRES.splitlines()]
    ordered = in_order([lines, [read_line("worker-search", WORKER)]])
    assert [line.part for line in ordered] == ["postgres", "postgres", "worker-search", "postgres"]


def test_a_line_is_shown_with_its_fields() -> None:
    assert shown(read_line("gw", WORKER), 4) == f"17:00:01.500 gw   warning  job ended job_id={JOB} took_s=2"


def test_logs_are_joined_and_chosen_by_part_level_and_job(data: Path) -> None:
    assert [line.split()[1] for line in run(data)] == ["postgres", "postgres", "valkey", "worker-search", "postgres"]
    assert [line.split()[2] for line in run(data, "--level", "warning")] == ["warning", "warning", "critical"]
    assert len(run(data, "worker", "valkey")) == 2
    assert [json.loads(line)["part"] for line in run(data, "--job", JOB[:6], "--json")] == ["worker-search"]
    assert len(run(data, "-n", "1")) == 1
    assert run(data, "-n", "0") == []


def test_what_has_no_log_is_said(tmp_path: Path, data: Path) -> None:
    for folder, part, said in ((tmp_path / "none", "", "no logs in"), (data, "worker-x", "'worker-x' has no log")):
        done = CliRunner().invoke(app, ["logs", "--data", str(folder), *filter(None, [part])])
        assert said in str(done.exception)


def append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def test_what_is_added_comes_and_a_log_that_was_started_again_is_read_from_its_start(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "EVERY_S", 0.01)
    file = data / "logs" / "valkey.log"
    coming = logs._coming({file: file.stat().st_size})
    for after_s, text in ((0.05, "half"), (0.1, " a line\n")):
        threading.Timer(after_s, append, (file, text)).start()
    assert next(coming).text == "half a line"
    file.write_text("again\n")
    assert next(coming).text == "again"


def test_a_job_is_named_by_the_beginning_of_its_id() -> None:
    of_server = LogLine("valkey", f"job {JOB} was lost")
    assert list(chosen([of_server, LogLine("valkey", "other")], job=JOB[:5])) == [of_server]
