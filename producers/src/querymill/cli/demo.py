"""``querymill demo``: everything once, on fictional samples: start, load, ask, explain, clean up."""

import json
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.text import Text

from querymill.cli.demo_answers import answered_and_judged
from querymill.cli.demo_models import rerank_and_embed
from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.kinds.conversations.demo import show_conversation_search
from querymill.kinds.files.demo import search_packages
from querymill.kinds.messages.demo import show_message_search
from querymill.kinds.modules.demo import code_examples
from querymill.kinds.reports.demo import ask, load_reports, questions
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
class Shown:
    """The results of all steps; those of the reports' questions apart."""

    reports: list[ReportResult]
    others: list[BaseModel]


def show_everything(mill: Querymill, sample: Path, console: Console) -> Shown:
    """Run every step but the start of the servers, each under its heading."""
    heading(console, "2. Fictional annual reports: chunked, embedded, stored")
    load_reports(mill, sample, console)
    heading(console, "3. Three questions, each expanded by four branches of a small chat model")
    asked = questions(sample)
    reports = [ask(mill, question, console) for question in asked]
    heading(console, "4. Code examples, by the modules they use")
    found = code_examples(mill, sample, console)
    heading(console, "5. Chat messages, by what they mean")
    said = show_message_search(mill, sample, console)
    heading(console, "6. Whole conversations, by what was talked about, and when")
    talked = show_conversation_search(mill, sample, console)
    heading(console, "7. The models alone: hits reranked, texts embedded")
    alone = rerank_and_embed(mill, reports[0], console)
    heading(console, "8. The first question again, answered from its hits, and the answer judged")
    answered = answered_and_judged(mill, asked[0].text, asked[0].answer, console)
    # The last: its vectors are made in the background, and leave the small models of one machine no time for others.
    heading(console, "9. A code base, searched in rounds: the source of two installed packages")
    code = search_packages(mill, console)
    return Shown(reports, [*found, *said, *talked, *alone, answered, *code])


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
        raise WrongUse("the demo needs the embedded stack: pip install 'querymill[embedded]'") from error
    return folder
