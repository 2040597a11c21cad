"""The bar that shows how far an ingestion is."""

from collections.abc import Iterator

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.submitting import LoadProgress, Parcel, ingest


def progress_bar(*columns: ProgressColumn, console: Console) -> Progress:
    """Return a bar of these columns, or of rich's own. Where the console is no terminal, it shows nothing."""
    return Progress(*columns, console=console, disable=not console.is_terminal)


def with_bar(mill: Querymill, parcels: Iterator[Parcel], console: Console, *, size: float) -> list[LoadProgress]:
    """Ingest with a progress bar over ``size`` bytes; returns one outcome per document."""
    return list(outcomes_with_bar(mill, parcels, console, size=size))


def outcomes_with_bar(
    mill: Querymill, parcels: Iterator[Parcel], console: Console, *, size: float | None
) -> Iterator[LoadProgress]:
    """Ingest with a progress bar, over ``size`` bytes if that is known; yields one outcome per document.

    What the ingestion waits for is printed, each reason once.
    """
    said: set[str] = set()
    bar = progress_bar(
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), console=console,
    )  # fmt: skip
    with bar:
        task = bar.add_task("ingesting", total=size)
        for advance in ingest(mill, parcels):
            bar.update(task, completed=advance.size)
            if advance.waits_for and advance.waits_for not in said:
                said.add(advance.waits_for)
                console.print(advance.waits_for, style="yellow")
            if advance.document is not None:
                yield advance
        bar.update(task, total=bar.tasks[task].completed)  # bad lines and what is left out count as read
