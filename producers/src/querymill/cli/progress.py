"""The bar that shows how far an ingestion is."""

from collections.abc import Iterable
from typing import Any

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from querymill.cli.terminal import Console
from querymill.client import Querymill
from querymill.ingestion import GoodLine, LoadProgress, ingest


def with_bar(mill: Querymill, lines: Iterable[GoodLine[Any]], console: Console, *, size: float) -> list[LoadProgress]:
    """Ingest with a progress bar over ``size`` bytes; returns one outcome per document."""
    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), console=console,
    )  # fmt: skip
    outcomes = []
    with bar:
        task = bar.add_task("ingesting", total=size)
        for advance in ingest(mill, lines):
            bar.update(task, completed=advance.size)
            if advance.document is not None:
                outcomes.append(advance)
    return outcomes
