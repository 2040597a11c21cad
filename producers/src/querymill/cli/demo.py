"""``querymill demo``: everything once, on fictional samples: start, load, ask, explain, clean up."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.text import Text

from querymill.cli.demo_answers import answer_two, ask_everything
from querymill.cli.demo_models import rerank_and_embed
from querymill.cli.exits import WrongUse
from querymill.cli.kind import DemoStep
from querymill.cli.kinds import KINDS
from querymill.cli.kinds.reports.demo import questions
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.install_hints import install_hint
from querymill_shared.contracts.reports.search import ReportResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="print the results as JSON")] = False,
) -> None:
    """Start a stack of its own, load fictional reports, code and chats, run every kind of job, clean up."""
    started = time.monotonic()
    console = Console(highlight=False, stderr=as_json)
    sample = sample_folder()
    heading(console, "1. Real servers, from wheels, in a temporary folder")
    with services(None, console), Querymill() as mill:
        console.print(f"   up after {time.monotonic() - started:.0f} s")
        shown = show_everything(mill, sample, console)
        after(console, shown.reports, time.monotonic() - started)
    if as_json:
        every = (*shown.reports, *shown.others)
        echo(json.dumps([json.loads(result.model_dump_json()) for result in every], ensure_ascii=False))
    console.print("Cleaned up: every process has ended and the temporary folder is gone.", style="dim")


@dataclass(frozen=True, slots=True)
class DemoResults:
    """The results of all steps; those of the reports' questions apart."""

    reports: list[ReportResult]
    others: list[BaseModel]


def show_everything(mill: Querymill, sample: Path, console: Console) -> DemoResults:
    """Run every step except the start of the servers, each under its heading."""
    numbers = count(2)

    def show(steps: Iterable[DemoStep]) -> Iterator[BaseModel]:
        for step in steps:
            heading(console, f"{next(numbers)}. {step.heading}")
            yield from step.show(mill, sample, console)

    found = list(show(step for kind in KINDS for step in kind.demo))
    reports = [result for result in found if isinstance(result, ReportResult)]
    others = [result for result in found if not isinstance(result, ReportResult)]
    others += show(service_steps(reports[0]))
    return DemoResults(reports, others)


def service_steps(found: ReportResult) -> tuple[DemoStep, ...]:
    """List the steps that use the services alone. They start from the result of the first question."""
    return (
        DemoStep(
            "The models alone: hits reranked, texts embedded",
            lambda mill, _, console: rerank_and_embed(mill, found, console),
        ),
        DemoStep("The first question again, answered by quotation; then one late in the chat", answer_late),
        DemoStep(
            "One question over everything: reports, code, messages and conversations in one ranking",
            lambda mill, _, console: ask_everything(mill, console),
        ),
    )


def answer_late(mill: Querymill, sample: Path, console: Console) -> list[ReportResult]:
    """Answer the first question on the reports, and one that leans on it."""
    first = questions(sample)[0]
    return answer_two(mill, first.text, first.answer, console)


def after(console: Console, results: list[ReportResult], seconds: float) -> None:
    """Say what happened, and what to try next."""
    heading(console, "What happened")
    first = sum(result.timing["first_branch_ms"] for result in results) / len(results)
    last = sum(result.timing["last_branch_ms"] for result in results) / len(results)
    console.print(
        f"   Each question of the reports became one job of five branches on the board;\n"
        f"   Celery only rang the bells. First hits stood on the board after {first:,.0f} ms,\n"
        f"   while the chat model was still writing; the last branch was in after\n"
        f"   {last:,.0f} ms. A branch whose reply is of no use is named, and the rest answers.\n"
        f"   A request for code needs no chat model: words and class names are enough.\n"
        f"   All of it took {seconds:.0f} s."
    )
    heading(console, "Try next")
    for command, meaning in (
        ("querymill up", "a stack that stays"),
        ("querymill ingest reports FILE.jsonl --collection c", "your own reports"),
        ('querymill search reports "…" --collection c --hyde', "ask them"),
        ("querymill chat c", "talk about them"),
        ("querymill doctor", "does it all answer?"),
    ):
        console.print(f"   .venv/bin/{command:<51} {meaning}")


def heading(console: Console, text: str) -> None:
    """Print a heading."""
    console.print()
    console.print(Text(text, style="bold cyan"))


def sample_folder() -> Path:
    """Find the sample that comes with the embedded stack."""
    try:
        folder = Path(str(resources.files("querymill_embedded") / "sample"))
    except ImportError as error:
        raise WrongUse(f"the demo needs the embedded stack; {install_hint('embedded')}") from error
    return folder
