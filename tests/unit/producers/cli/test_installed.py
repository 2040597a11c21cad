"""Commands of other distributions, found by entry point."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from querymill.cli.exits import WrongUse
from querymill.cli.installed import add_commands
from querymill.cli.summaries import GROUP
from querymill.install_hints import install_hint


def command_line(*entries: EntryPoint) -> typer.Typer:
    app = typer.Typer()
    app.command("own")(lambda: print("own command"))
    add_commands(app, entries)
    return app


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package that is found like an installed one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    return tmp_path / "stranger.py"


def test_the_commands_of_another_distribution_are_added(stranger: Path) -> None:
    stranger.write_text("def register(app):\n    app.command('measure')(lambda: print('measured'))\n")
    run = CliRunner().invoke(command_line(EntryPoint("measure", "stranger:register", GROUP)), ["measure"])
    assert (run.exit_code, run.stdout) == (0, "measured\n")


BROKEN = [
    ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    ("raise ValueError('numpy was built for another Python')", "ValueError: numpy was built for another Python"),
    ("raise ImportError('''one line\n\n  another line''')", "ImportError: one line another line"),
    ("def other(app): ...", "has no attribute 'register'"),
]


@pytest.mark.parametrize(("source", "reason"), BROKEN)
def test_a_command_that_cannot_be_imported_says_why_when_it_is_used(stranger: Path, source: str, reason: str) -> None:
    stranger.write_text(source + "\n")
    app = command_line(EntryPoint("measure", "stranger:register", GROUP))
    assert CliRunner().invoke(app, ["own"]).stdout == "own command\n"
    run = CliRunner().invoke(app, ["measure", "folder", "--kind", "reports"])
    assert isinstance(run.exception, WrongUse)
    said = str(run.exception)
    assert said.startswith("measure: stranger cannot be imported (")
    assert reason in said
    assert "\n" not in said
    assert "Unavailable: stranger cannot be imported." in CliRunner().invoke(app, ["--help"]).stdout


def test_evaluation_declares_its_four_commands() -> None:
    declared = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    assert declared == {
        "bench": "querymill_evaluation.cli.bench:register",
        "calibrate": "querymill_evaluation.cli.calibrate:register",
        "calibrate-files": "querymill_evaluation.cli.calibrate_files:register",
        "eval": "querymill_evaluation.cli.evaluate:register",
    }


def test_no_command_waits_for_the_import_of_scientific_libraries() -> None:
    heavy = "sorted({'numpy', 'scipy', 'ir_measures'} & set(sys.modules))"
    command = [sys.executable, "-c", f"import sys, querymill.cli.main; print({heavy})"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_light_client_and_its_commands_import_no_library_of_an_extra() -> None:
    extras = {"mcp", "mcp_types", "starlette", "fastapi", "uvicorn", "langchain_core", "llama_index", "haystack"}
    heavy = f"sorted({extras!r} & set(sys.modules))"
    command = [sys.executable, "-c", f"import sys, querymill, querymill.cli.main; print({heavy})"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_gateway_that_is_not_installed_is_named_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no such module', name='uvicorn')")
    done = subprocess.run(
        [sys.executable, "-m", "querymill.gateway"], env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"the gateway is not installed (uvicorn is missing); {install_hint('gateway')}\n"
