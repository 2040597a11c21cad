"""The launcher as the supervisor runs it: a file, isolated, and then the program itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from querymill_embedded import program as launcher
from querymill_embedded.parts import Program
from querymill_embedded.state import PROGRAMS_FILE, write_programs


def launch(data: Path, program: Program, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    write_programs(data, [program], environment or {})
    return subprocess.run(
        [sys.executable, "-I", str(launcher.__file__), str(data / PROGRAMS_FILE), program.name],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WHOSE": "the caller's", "KEPT": "the caller's"},
    )


def shell(script: str, *words: str, **environment: str) -> Program:
    return Program(name="a", command=("sh", "-c", script, *words), environment=environment)


def test_the_program_has_its_own_environment_over_that_of_the_stack_over_that_of_the_caller(tmp_path: Path) -> None:
    show = shell('echo "$WHOSE, $PART, $KEPT"', WHOSE="the program's")
    run = launch(tmp_path, show, {"WHOSE": "the stack's", "PART": "the stack's"})
    assert run.stdout == "the program's, the stack's, the caller's\n"


@pytest.mark.parametrize("word", ["", " ; rm", "$HOME", "a\nb", "'\"", "käpt 工", "%(x)s"])
def test_words_reach_the_program_as_they_are(tmp_path: Path, word: str) -> None:
    assert launch(tmp_path, shell('printf "%s" "$1"', "sh", word)).stdout == word


def test_the_exit_status_is_that_of_the_program(tmp_path: Path) -> None:
    assert launch(tmp_path, shell("exit 7")).returncode == 7


def test_the_launcher_becomes_the_program_under_its_own_pid(tmp_path: Path) -> None:
    write_programs(tmp_path, [shell("echo $$")], {})
    with subprocess.Popen(
        [sys.executable, "-I", str(launcher.__file__), str(tmp_path / PROGRAMS_FILE), "a"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert int(process.stdout.read()) == process.pid


@pytest.mark.parametrize(
    ("command", "reason"), [("/nowhere/run", "No such file or directory"), ("/etc", "Permission denied")]
)
def test_a_command_that_cannot_be_run_is_named_with_the_reason(tmp_path: Path, command: str, reason: str) -> None:
    run = launch(tmp_path, Program(name="a", command=(command,)))
    assert (run.returncode, run.stderr) == (1, f"{command}: cannot be run ({reason})\n")


def test_the_path_of_the_program_is_searched(tmp_path: Path) -> None:
    (tmp_path / "greet").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "greet").chmod(0o755)
    greet = Program(name="a", command=("greet",), environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert launch(tmp_path, greet).stdout == "hello\n"


def test_the_programs_file_holds_each_program_under_its_name(tmp_path: Path) -> None:
    programs = [Program(name=name, command=("true", name)) for name in ("a", "b")]
    write_programs(tmp_path, programs, {"REDIS_URL": "r"})
    record = json.loads((tmp_path / PROGRAMS_FILE).read_text())
    assert {name: entry["command"] for name, entry in record.items()} == {"a": ["true", "a"], "b": ["true", "b"]}
