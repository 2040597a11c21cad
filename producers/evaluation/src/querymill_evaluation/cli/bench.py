"""``querymill bench``: run the benchmarks of the source checkout."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from querymill.cli.exits import WrongUse
from querymill.cli.terminal import echo


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)


def bench(
    name: Annotated[str | None, typer.Argument(help="benchmark to run, or all (default: list them)")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="list the benchmarks")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object per benchmark")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="number of runs; medians are reported")] = 3,
    large: Annotated[
        bool, typer.Option("--large", help="also run the sizes that take longer than five minutes")
    ] = False,
    messages: Annotated[
        int | None,
        typer.Option(
            "--messages", min=1_000_000, help="of scale: search so many messages, and a tenth of them, instead"
        ),
    ] = None,
) -> None:
    """Run a benchmark: medians of several runs, and ratios against a peer or a floor in the same run."""
    folder = _find_benchmarks()
    known = sorted(file.stem for file in folder.glob("bench_*.py"))
    names = [stem.removeprefix("bench_") for stem in known]
    if list_them or name is None:
        echo("\n".join(names))
        return
    if name not in (*names, "all"):
        raise WrongUse(f"name: {name!r} is not one of: {', '.join([*names, 'all'])}")
    if messages is not None and name != "scale":
        raise WrongUse(f"--messages belongs to the benchmark scale, not to {name}")
    options = ["--repeats", str(repeats), *(["--json"] if as_json else []), *(["--large"] if large else [])]
    options += [] if messages is None else ["--messages", str(messages)]
    codes = [_run(folder, chosen, options) for chosen in (names if name == "all" else [name])]
    raise typer.Exit(max(codes))


def _run(folder: Path, name: str, options: list[str]) -> int:
    module = f"tests.benchmarks.bench_{name}"
    return subprocess.run([sys.executable, "-m", module, *options], cwd=folder.parents[1], check=False).returncode


def _find_benchmarks() -> Path:
    here = Path.cwd()
    for place in (here, *here.parents, *Path(__file__).resolve().parents):
        folder = place / "tests" / "benchmarks"
        # Other projects have such a folder, too.
        if folder.is_dir() and (place / "producers" / "evaluation").is_dir():
            return folder
    raise WrongUse("the benchmarks are part of the source checkout; run `querymill bench` inside it")
