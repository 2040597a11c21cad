"""What a job looks like on a terminal while it runs, and when it is done."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from querymill.cli.terminal import Console
from querymill.presenting.explain.absence import say_absence
from querymill.presenting.explain.degradations import CHAT_MODEL_SETTINGS
from querymill_shared.contracts.answer import WRITE
from querymill_shared.contracts.events import (
    AnswerPart,
    Done,
    Event,
    Hits,
    PartialHit,
    Queued,
    StageFinished,
    StageStarted,
)
from querymill_shared.contracts.rerank import RerankedHit, RerankResult
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence

_SHOWN_HITS = 5
#: How many characters of an unfinished answer are shown, from its end: what is higher than the screen is hidden.
_SHOWN_ANSWER = 800


class JobScreen:
    """The live screen: one moving line for each branch, and the best hits so far."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._states: dict[str, RenderableType] = {}
        self._notes: dict[str, str] = {}
        self._hits: tuple[PartialHit, ...] = ()
        self._answer = ""

    def see(self, event: Event) -> None:
        """Add an event to the screen."""
        match event:
            case Queued(stages=stages):
                self._states = {stage: Text("·", style="dim") for stage in stages}
            case StageStarted(stage=stage, attempt=attempt):
                self._states[stage] = Spinner("dots", style="cyan")
                self._notes[stage] = "working" if attempt == 1 else f"attempt {attempt}"
            case StageFinished(stage=stage, state=state, ms=ms, reason=reason):
                mark, style = {"done": ("✓", "green"), "failed": ("✗", "red"), "retrying": ("↻", "yellow")}[state]
                self._states[stage] = Text(mark, style=style)
                self._notes[stage] = reason or (f"{ms:,.0f} ms" if ms is not None else "")
            case Hits(hits=hits):
                self._hits = hits
            case AnswerPart(offset=offset, text=text):
                self._answer = self._answer[:offset] + text
            case Done():
                self._answer = ""  # printed below, complete and with its citations
            case _:
                pass

    def __rich__(self) -> RenderableType:
        table = Table.grid(padding=(0, 1))
        for stage, state in self._states.items():
            table.add_row("  ", state, Text(stage), Text(self._notes.get(stage, "waiting"), style="dim"))
        best = [
            Text(f"     {hit.score:.4f}  {_named(hit)}", style="dim", no_wrap=True) for hit in self._hits[:_SHOWN_HITS]
        ]
        answer = [Text(self._answer[-_SHOWN_ANSWER:])] if self._answer else []
        return Group(Text(self._title, style="bold"), table, *best, *answer)


def follow(console: Console, title: str, events: Iterable[Event]) -> None:
    """Show a job's events live until the last one; show nothing if the output is not a terminal."""
    screen = JobScreen(title)
    with Live(screen, console=console, refresh_per_second=12, transient=not console.is_terminal) as live:
        for event in events:
            screen.see(event)
            live.refresh()


def show_reranked(console: Console, result: RerankResult) -> None:
    """Print the hits in their new order with what their scores are made of, then what is missing."""
    for rank, hit in enumerate(result.results, start=1):
        console.print(Text.assemble((f"{rank:>2}", "bold"), "  ", (f"{hit.score:.4f}", "green"), f"  {hit.id}"))
        console.print(Text(f"      {_made_of(hit)}   (it was {hit.explanation['rank']})", style="dim"))
    for part in result.degraded:
        console.print(Text(f"  {part.stage}: {part.reason}", style="yellow"))


def _made_of(hit: RerankedHit) -> str:
    numbers = {name: value for name, value in hit.explanation.items() if isinstance(value, float)}
    formula = str(hit.explanation["formula"])
    for name in sorted(numbers, key=len, reverse=True):
        formula = formula.replace(name, f"{numbers[name]:.4g}")
    return f"{formula} similarity alone: nobody judged it" if hit.relevance is None else formula


def _named(hit: PartialHit) -> str:
    return hit.key if hit.title is None else f"{hit.title} ({_place(hit.key)})"


def _place(key: str) -> str:
    return " ".join(key.split("/")[-2:])


def show_absence(console: Console, absence: Absence | None) -> None:
    """Print why something is not among the hits, and what would bring it in; nothing if that was not asked."""
    if absence is not None:
        for line in say_absence(absence):
            console.print(Text(f"  {line}", "yellow"))


def show_degraded(console: Console, degraded: Iterable[Degradation]) -> None:
    """Print what a result lacks, each part with its reason, and what would help."""
    for part in degraded:
        console.print(Text(f"  degraded: {part.stage}: {part.reason}{_help(part)}", style="yellow"))


def _help(part: Degradation) -> str:
    if part.code == "deadline":
        return "; a longer --deadline may help"
    return f". {CHAT_MODEL_SETTINGS}" if part.stage == WRITE else ""
