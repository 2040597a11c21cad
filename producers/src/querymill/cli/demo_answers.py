"""The demo's step on answers: one of the questions again, answered from its hits and judged."""

from rich.text import Text

from querymill.cli import screen
from querymill.cli.sample import COLLECTION
from querymill.cli.screen import show_degraded
from querymill.cli.screen_answers import show_answer
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

#: A chat model on a few CPU cores reads slowly: few passages, and a short answer.
HITS, PASSAGE_TOKENS, ANSWER_TOKENS = 3, 300, 60


def answer_and_judge(mill: Querymill, question: str, known: str, console: Console) -> ReportResult:
    """Search, show the chat model answering from the hits, and let it judge the answer; print what it cites."""
    request = ReportSearch(
        query=question, collection=COLLECTION, top_n=HITS, answer=True, judge=True,
        answer_tokens=ANSWER_TOKENS, passage_tokens=PASSAGE_TOKENS, deadline=40,
    )  # fmt: skip
    job = mill.submit(request)
    console.print()
    screen.follow(console, question, job.events(timeout=50))
    result = job.result(timeout=5)
    if result.answer is not None:
        show_answer(console, result.answer)
    show_degraded(console, result.degraded)
    console.print(Text(f"  the answer the sample knows: {known}", "bold"))
    console.print(
        "   The chat model from the wheel (135 million parameters) is far too small for this: expect a poor answer,\n"
        "   wrong or no citations, and no judgement worth the name. What holds with any model: a number in brackets\n"
        "   names a hit that exists, and if there is no answer, the reason is given and the hits remain."
    )
    return result
