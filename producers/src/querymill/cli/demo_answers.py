"""The demo's step on answers: one of the questions again, answered from its hits by quotation."""

from typing import Final

from rich.text import Text

from querymill.cli import screen
from querymill.cli.sample import COLLECTION
from querymill.cli.screen import show_degraded
from querymill.cli.screen_answers import show_answer
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

HITS: Final = 3


def answer(mill: Querymill, question: str, known: str, console: Console) -> ReportResult:
    """Search, show the answer as it is put together of what the hits say, and print what it cites."""
    request = ReportSearch(query=question, collection=COLLECTION, top_n=HITS, answer=True, deadline=40)
    job = mill.submit(request)
    console.print()
    screen.follow(console, question, job.events(timeout=50))
    result = job.result(timeout=5)
    if result.answer is not None:
        show_answer(console, result.answer)
    show_degraded(console, result.degraded)
    console.print(Text(f"  the answer the sample knows: {known}", "bold"))
    console.print(
        "   The chat model from the wheel (135 million parameters) is too small to answer. Answers are quotations:\n"
        "   the sentences and table rows that say most of the question. With OPENAI_BASE_URL and CHAT_MODEL a model\n"
        "   of your own writes them, and a quotation stands in where it fails."
    )
    return result
