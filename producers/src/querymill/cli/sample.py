"""The sample of the demo: fictional documents that come with the embedded stack."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from querymill.cli.progress import with_bar
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import D, GoodLine, Lines
from querymill.ingesting.submitting import LoadProgress, pack

#: The collection that holds the sample.
COLLECTION: Final = "demo"


def load_sample(
    mill: Querymill, lines: Lines[D], path: Path, console: Console
) -> tuple[list[GoodLine[D]], list[LoadProgress]]:
    """Ingest a file of the sample with a progress bar; returns its lines, and what became of each."""
    good = [line for line in lines.read(path) if isinstance(line, GoodLine)]
    return good, with_bar(mill, pack(good, lines.asking(COLLECTION)), console, size=sum(line.size for line in good))


def ask(mill: Querymill, requests: Iterable[Any], show: Callable[..., None], console: Console) -> list[Any]:
    """Ask each question of the sample, and ``show`` its two best hits; returns the results."""
    results = []
    for request in requests:
        result = mill.submit(request).result(timeout=request.deadline + 10)
        console.print(f"\n  {request.query}", style="bold")
        show(console, result, limit=2)
        results.append(result)
    return results
