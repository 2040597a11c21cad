"""What a hit looks like on a terminal: what it is, what it says about the question, and what its score is made of."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from querymill.cli.terminal import Console
from querymill.presenting.excerpts import excerpt
from querymill.presenting.explain.score_trees import EXPANDED, RERANKED, SCORE_BEFORE
from querymill.presenting.hit import HitView, views_of
from querymill_shared.contracts.search import AnySearchResult

_INDENT = 6
_MARK = "bold yellow"


def _title(view: HitView) -> Text:
    return Text(view.title)


def _score(hit: Any) -> str:
    return f"{hit.score:.4f}"


def _nothing(_: Any) -> Iterable[str]:
    return ()


def show_hits(
    console: Console,
    result: AnySearchResult,
    *,
    limit: int | None = None,
    heading: Callable[[HitView], Text] = _title,
    score: Callable[[Any], str] = _score,
    made_of: Callable[[Any], Iterable[str]] = _nothing,
    none: str = "no hits",
) -> None:
    """Print the hits, or that there are none. Long lines wrap below their beginning.

    Each has its ``score`` and its ``heading``; the part of its text to read first; the equations that its score is
    ``made_of``; and the place in the source, on a line that is never wrapped, so that terminals can jump there.
    """
    for rank, view in enumerate(views_of(result, limit=limit), start=1):
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(Text(f"{rank:>2}", "bold"), Text(score(view.joint or view.hit), "green"), heading(view))
        console.print(line)
        _print_indented(console, _says(view, result.query))
        for equation in equations_of(view.joint or view.hit, made_of):
            _print_indented(console, Text(equation, "dim"))
        if view.written_in:
            console.print(Text(" " * _INDENT + view.written_in, "dim"), soft_wrap=True)
    if not result.results:
        console.print(f"  {none}", style="yellow")


def equations_of(hit: Any, made_of: Callable[[Any], Iterable[str]]) -> Iterator[str]:
    """Yield what a score is made of: by the judge, across the branches of an expanded search, and in its own branch."""
    judged = hit.explanation.get(RERANKED, {})
    if SCORE_BEFORE in judged:
        yield _by_judge(hit.score, judged)
        own = {name: value for name, value in hit.explanation.items() if name != RERANKED}
        hit = hit.model_copy(update={"score": judged[SCORE_BEFORE], "explanation": own})
    why = hit.explanation.get(EXPANDED)
    if why is not None:
        ranks = [(branch, why["weights"][branch], rank) for branch, rank in why["ranks"].items()]
        yield f"{hit.score:.4f} = {joined_ranks(ranks, why['k'])}"
        hit = hit.model_copy(update={"score": why["score_in_branch"]})
    yield from made_of(hit)


def _by_judge(score: float, why: Mapping[str, Any]) -> str:
    """Return what the judge made of a hit.

    >>> _by_judge(0.9, {"relevance": 0.9, "rank": 7})
    '0.9000 = relevance by the judge (rank 7 before)'
    """
    if "relevance" not in why:
        return f"not judged: below the judged hits, in its order before (rank {why['rank']})"
    return f"{score:.4f} = relevance by the judge (rank {why['rank']} before)"


def _says(view: HitView, question: str) -> Text:
    if view.is_cut:
        return _marked(view.shown.replace("\n", " "), view.marks)
    said = excerpt(view.shown, question)
    return _marked(said.text, said.marks)


def _print_indented(console: Console, text: Text) -> None:
    for line in text.wrap(console, console.width - _INDENT):
        console.print(Text(" " * _INDENT).append_text(line))


def _marked(text: str, marks: Sequence[tuple[int, int]]) -> Text:
    """Return a text with the places of the question's words emphasised."""
    shown = Text(text)
    for start, end in marks:
        shown.stylize(_MARK, start, end)
    return shown


def joined_ranks(ranks: Iterable[tuple[str, float, float]], k: float) -> str:
    """Return the sum of a weighted reciprocal rank fusion, of (channel, weight, rank) each.

    >>> joined_ranks([("words", 1, 2), ("vectors", 0.25, 1)], 10)
    '1 / (10 + rank 2 by words) + 0.25 / (10 + rank 1 by vectors)'
    """
    return " + ".join(f"{weight:g} / ({k:g} + rank {rank:g} by {channel})" for channel, weight, rank in ranks)
