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

from querymill.cli import ingest as ingest_command
from querymill.cli import screen
from querymill.cli.demo_answers import answered_and_judged
from querymill.cli.demo_models import rerank_and_embed
from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.ingestion import GoodLine, read_modules, read_reports
from querymill.kinds.conversations.demo import show_conversation_search
from querymill.kinds.files.demo import search_packages
from querymill.kinds.messages.demo import show_message_search
from querymill.kinds.modules.screen import show_modules
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch, SubQuery
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

COLLECTION = "demo"
#: Of the sample's questions: one by ticker, one by period, one in Chinese.
ASKED = ("q01", "q03", "q07")


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


def load_reports(mill: Querymill, sample: Path, console: Console) -> None:
    """Take the sample's reports in."""
    lines = [line for line in read_reports(sample / "reports.jsonl", COLLECTION) if isinstance(line, GoodLine)]
    outcomes = ingest_command.follow(mill, lines, console)
    passages = sum(outcome.result.total for outcome in outcomes if outcome.result is not None)
    pages = sum(len(line.request.report.pages) for line in lines if isinstance(line.request, IngestReport))
    console.print(f"   {len(lines)} reports, {pages} pages, {passages} passages")


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the sample, and where its answer stands."""

    text: str
    answer: str
    document: str
    pages: tuple[int, ...]


def questions(sample: Path) -> list[Question]:
    """Read the questions that are asked."""
    lines = (json.loads(line) for line in (sample / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    known = {line["_id"]: line for line in lines}
    return [
        Question(line["text"], line["answer"], line["sha1"], tuple(line["pages"]))
        for line in (known[name] for name in ASKED)
    ]


def ask(mill: Querymill, question: Question, console: Console) -> ReportResult:
    """Ask with HyDE and every multi-query method on; show the branches live, then the scores explained."""
    job = mill.submit(
        ReportSearch(
            query=question.text, collection=COLLECTION, top_n=5, hyde=True,
            multi_query=("synonym", "subquestion", "variant"), return_parent_pages=True, deadline=30,
        )
    )  # fmt: skip
    console.print()
    screen.follow(console, question.text, job.events(timeout=40))
    result = job.result(timeout=5)
    screen.show_reports(console, result, most=3)
    for branch, texts in result.expansion_texts.items():
        console.print(
            Text(
                f"  {branch} also searched: {' | '.join(' '.join(text.split()) for text in texts)}"[:160],
                "dim",
            )
        )
    ranks = [
        rank
        for rank, hit in enumerate(result.results, start=1)
        if hit.document == question.document and hit.page in question.pages
    ]
    place = f"at rank {ranks[0]}" if ranks else "not among these"
    console.print(Text(f"  the answer the sample knows: {question.answer} (page {question.pages[0]}): {place}", "bold"))
    return result


def code_examples(mill: Querymill, sample: Path, console: Console) -> list[ModuleResult]:
    """Load code examples, learn their words, and ask by class names, by weighted parts, and by plain words."""
    lines = [line for line in read_modules(sample / "modules.jsonl", COLLECTION) if isinstance(line, GoodLine)]
    ingest_command.follow(mill, lines, console)
    lexicon = mill.submit(LearnLexicon(collection=COLLECTION)).result(timeout=60)
    console.print(f"   {len(lines)} documents; {lexicon.total} words of their descriptions stand for modules")
    parts = (SubQuery(description="cut by a vtkPlane", weight=10), SubQuery(description="an STL reader", weight=3))
    asked = (
        ModuleSearch(query="请用vtkConeSource画一个锥体", collection=COLLECTION, top_k=3),
        ModuleSearch(query="Cut a printed part by a plane", collection=COLLECTION, top_k=3, sub_queries=parts),
        ModuleSearch(query="a legend for the pressure", collection=COLLECTION, top_k=3),
    )
    results = []
    for request in asked:
        console.print()
        console.print(Text(request.query, "bold"))
        results.append(mill.submit(request).result(timeout=40))
        show_modules(console, results[-1], most=2)
    prompt = results[1].prompt
    console.print(Text(f"  a prompt of {len(prompt):,} characters for a code-writing model is part of each", "dim"))
    return results


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
