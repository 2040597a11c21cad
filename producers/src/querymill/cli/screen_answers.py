"""What an answer looks like on a terminal."""

from collections.abc import Iterable
from typing import Final

from rich.text import Text

from querymill.cli.screen import show_degraded
from querymill.cli.terminal import Console
from querymill.presenting.numbers import laps
from querymill_shared.contracts.answer import AnswerResult, Citation, WrittenAnswer

#: What stands below an answer that no chat model wrote.
QUOTED_MARK: Final = Text("    quoted from the hits; no chat model wrote it", style="dim")


def show_answered(console: Console, result: AnswerResult) -> None:
    """Print the answer, or why there is none."""
    if result.answer is not None:
        show_answer(console, result.answer)
    show_degraded(console, result.degraded)
    timing = laps(result.timing)
    console.print(Text(f"  from {result.total} hits · {timing}", style="dim"))


def show_answer(console: Console, answer: WrittenAnswer) -> None:
    """Print an answer, what it cites, and how it was judged."""
    for line in answer.text.splitlines():
        console.print(Text(f"  {line}", style="bold"))
    if answer.quoted:
        console.print(QUOTED_MARK)
    for citation in answer.citations:
        console.print(Text(f"    [{citation.number}] {_place(citation)}", style="green"))
    if answer.removed_citations:
        numbers = ", ".join(f"[{number}]" for number in answer.removed_citations)
        console.print(Text(f"    taken out, for they name no passage: {numbers}", style="yellow"))
    judgement = answer.judgement
    if judgement is None:
        return
    degrees = {"grounded": judgement.grounded, "relevant": judgement.relevant, "complete": judgement.complete}
    said = " · ".join(f"{name} {degree:.2f}" for name, degree in degrees.items())
    console.print(Text(f"    judged: {said}", style="dim"))
    for sentence in judgement.unsupported:
        console.print(Text(f"    no passage supports: {sentence}", style="yellow"))


def show_sources(console: Console, cited: Iterable[tuple[int, str]]) -> None:
    """Print the numbers that an answer cites, each once, and the titles of their sources."""
    for number, title in dict(cited).items():
        console.print(Text(f"  [{number}] {title}", style="green"))


def _place(citation: Citation) -> str:
    page = "" if citation.page is None else f", page {citation.page}"
    return f"{citation.id if citation.title is None else citation.title}{page}"
