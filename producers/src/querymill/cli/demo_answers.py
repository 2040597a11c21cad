"""The demo's steps on answers: one of the questions again, one late in the chat after it, and one over everything."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from querymill.cli import screen, search_all
from querymill.cli.sample import COLLECTION
from querymill.cli.screen import show_degraded
from querymill.cli.screen_answers import show_answer
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from querymill_shared.contracts.search import Search, SearchResult

HITS: Final = 3
#: What is asked after the first question, and its answer in the sample.
LATE: Final = ("And in 2021?", "USD 14,310 per day")
#: What is asked of everything. One kind of the sample knows.
OF_ALL: Final = "When does the berth in Karrvik end?"


def answer(
    mill: Querymill, question: str, known: str, console: Console, history: Sequence[Turn] = ()
) -> ReportResult:  # fmt: skip
    """Search, show the answer as it is put together of what the hits say, and print what it cites."""
    request = ReportSearch(
        query=question, collection=COLLECTION, history=tuple(history), top_n=HITS, answer=True, deadline=40
    )
    job = mill.submit(request)
    console.print(f"\n  {question}", style="bold")
    screen.follow(console, question, job.events(timeout=50))
    result = job.result(timeout=5)
    for text in result.expansion_texts.get("history", ()):
        console.print(Text(f"  of the chat before it, also searched: {' '.join(text.split())}", "dim"))
    if result.answer is not None:
        show_answer(console, result.answer)
    show_degraded(console, result.degraded)
    console.print(Text(f"  the answer the sample knows: {known}", "bold"))
    return result


def answer_two(mill: Querymill, question: str, known: str, console: Console) -> list[ReportResult]:
    """Answer a question, then one that means nothing without it."""
    first = answer(mill, question, known, console)
    console.print(
        "   The chat model from the wheel (135 million parameters) writes no answers here. Answers are quotations:\n"
        "   the sentences and table rows that say most of the question. With OPENAI_BASE_URL and CHAT_MODEL a model\n"
        "   of your own writes them, and a quotation stands in where it fails."
    )
    said = "" if first.answer is None else first.answer.text
    turns = [Turn(role="user", text=question), *([Turn(role="assistant", text=said)] if said else [])]
    return [first, answer(mill, *LATE, console, turns)]


def ask_everything(mill: Querymill, console: Console) -> list[SearchResult]:
    """Ask one question of every kind of document, and show the joint ranking and how each kind went."""
    job = mill.submit(Search(query=OF_ALL, collections=(COLLECTION,), top_k=HITS))
    console.print(f"\n  {OF_ALL}", style="bold")
    screen.follow(console, OF_ALL, job.events(timeout=20))
    result = job.result(timeout=5)
    search_all.show(console, result)
    return [result]
