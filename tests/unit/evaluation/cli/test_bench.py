"""``querymill bench``: the benchmarks of a checkout, and a clear word outside of one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import querymill_evaluation
from querymill.cli.exits import WrongUse
from querymill_evaluation.cli.bench import register

ROOT = Path(__file__).parents[4]


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return app


@pytest.mark.parametrize("folder", [".", "tests/unit"])
def test_in_a_checkout_every_benchmark_is_listed(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(ROOT / folder)
    listed = CliRunner().invoke(app, ["bench", "--list"]).stdout.split()
    assert listed == sorted(file.stem.removeprefix("bench_") for file in (ROOT / "tests/benchmarks").glob("bench_*.py"))
    assert {"limits", "vectors", "bm25"} <= set(listed)
    assert CliRunner().invoke(app, ["bench"]).stdout.split() == listed


def test_an_unknown_benchmark_is_refused_with_the_known_ones(app: typer.Typer) -> None:
    run = CliRunner().invoke(app, ["bench", "nonsense"])
    assert isinstance(run.exception, WrongUse)
    assert str(run.exception).startswith("name: 'nonsense' is not one of: bm25, costs, gateway, ingest, joint, ")
    assert str(run.exception).endswith(", all")


@pytest.mark.parametrize("name", ["overhead", "vectors", "all"])
def test_a_number_of_messages_belongs_to_one_benchmark(app: typer.Typer, name: str) -> None:
    run = CliRunner().invoke(app, ["bench", name, "--messages", "1000000"])
    assert isinstance(run.exception, WrongUse)
    assert str(run.exception) == f"--messages belongs to the benchmark scale, not to {name}"


def test_fewer_messages_than_a_million_are_refused(app: typer.Typer) -> None:
    run = CliRunner().invoke(app, ["bench", "scale", "--messages", "1000"])
    assert run.exit_code == 2
    assert "1000000" in run.output


def outside(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, from a package that is installed outside of any checkout."""
    installed = folder / "site-packages"
    shutil.copytree(Path(querymill_evaluation.__file__).parent, installed / "querymill_evaluation")
    command = [str(Path(sys.executable).with_name("querymill")), *arguments]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments", [("--list",), *(pytest.param(words, marks=pytest.mark.nightly) for words in (("overhead",), ("all",)))]
)
def test_outside_a_checkout_it_says_so_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    run = outside(tmp_path, "bench", *arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == "the benchmarks are part of the source checkout; run `querymill bench` inside it\n"


def test_the_benchmarks_of_another_project_are_not_ours(tmp_path: Path) -> None:
    theirs = tmp_path / "tests" / "benchmarks"
    theirs.mkdir(parents=True)
    (theirs / "bench_theirs.py").write_text("raise SystemExit('theirs was run')")
    run = outside(tmp_path, "bench", "all")
    assert (run.returncode, run.stdout) == (2, "")
    assert "source checkout" in run.stderr
