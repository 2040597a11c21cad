"""The demo's steps on reports: annual reports are ingested, and asked three questions."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.text import Text

from querymill.cli import screen
from querymill.cli.kind import DemoStep
from querymill.cli.kinds.reports.screen import show
from querymill.cli.sample import COLLECTION, load_sample
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.kinds.reports import LINES
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

#: Of the sample's questions: one by ticker, one by period, one in Chinese.
ASKED: Final = ("q01", "q03", "q07")


def load_reports(mill: Querymill, sample: Path, console: Console) -> list[ReportResult]:
    """Ingest the sample's reports; nothing is asked yet."""
    lines, outcomes = load_sample(mill, LINES, sample / "reports.jsonl", console)
    passages = sum(outcome.result.total for outcome in outcomes if outcome.result is not None)
    pages = sum(len(line.document.pages) for line in lines)
    console.print(f"   {len(lines)} reports, {pages} pages, {passages} passages")
    return []


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question of the sample, and where its answer stands."""

    text: str
    answer: str
    document: str
    pages: tuple[int, ...]


def questions(sample: Path) -> list[SampleQuestion]:
    """Read the questions that are asked."""
    lines = (json.loads(line) for line in (sample / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    known = {line["_id"]: line for line in lines}
    return [
        SampleQuestion(line["text"], line["answer"], line["sha1"], tuple(line["pages"]))
        for line in (known[name] for name in ASKED)
    ]


def ask_questions(mill: Querymill, sample: Path, console: Console) -> list[ReportResult]:
    """Ask each of the questions."""
    return [ask(mill, question, console) for question in questions(sample)]


def ask(mill: Querymill, question: SampleQuestion, console: Console) -> ReportResult:
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
    show(console, result, limit=3)
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


STEPS: Final = (
    DemoStep("Fictional annual reports: chunked, embedded, stored", load_reports),
    DemoStep("Three questions, each expanded by four branches of a small chat model", ask_questions),
)
