"""Ctrl-C in the first seconds of a command: it says what became of it, shows no traceback, and exits with 130."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 60
QUERYMILL = Path(sys.executable).with_name("querymill")
#: A module that the command line imports, in place of the real one: it says that it is being loaded, and lasts.
SLOW = "import time\nprint('loading', flush=True)\ntime.sleep(600)\n"


@pytest.mark.parametrize("module", ["typer", "pydantic"])
def test_a_command_that_is_interrupted_while_it_is_loaded_says_so(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(SLOW)
    with subprocess.Popen(
        [QUERYMILL, "status"], env=os.environ | {"PYTHONPATH": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "loading\n"
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 130
    assert said == "Interrupted before the command began: nothing was done.\n"


def test_a_stack_that_is_interrupted_while_it_starts_leaves_nothing_running(tmp_path: Path) -> None:
    data = tmp_path / "stack"
    with subprocess.Popen([QUERYMILL, "up", "--data", data], text=True, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("Starting")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Interrupted before everything was ready" in said
    assert "Traceback" not in said
    assert not list(data.glob("stack.json"))
