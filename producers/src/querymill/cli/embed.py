"""``querymill embed``: embed a file of texts; a killed run resumes when it is run again."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from querymill.cli.bulk.embed_file import Backfill, EmbedOptions, EmbedProgress, FileSlice, read_pieces
from querymill.cli.bulk.vector_file import VectorFile
from querymill.cli.exits import Exit, WrongUse, why_unusable
from querymill.cli.progress import progress_bar
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import BadLine


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(embed)


def embed(
    path: Annotated[Path, typer.Argument(help='a file of JSON lines: {"_id", "text", "document"?}')],
    out: Annotated[Path | None, typer.Option(help='append {"_id", "embedding"} to this file')] = None,
    table: Annotated[bool, typer.Option("--table", help="write the rows of the table text_vectors instead")] = False,
    collection: Annotated[str, typer.Option(help="the collection the texts belong to")] = "default",
    input_type: Annotated[str, typer.Option(help="what the texts are: passage or query")] = "passage",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Embed texts; a bad line is reported with its number and reason, the rest is embedded."""
    if (out is None) is not table:
        raise WrongUse("--out FILE or --table: give one of them")
    size = _size(path)
    order = EmbedOptions(collection, input_type, "table" if table else "result")
    console = Console(stderr=True)
    with Querymill() as mill, _opened(out) as file:
        done = follow(Backfill(mill, order, file).run(read_pieces(path)), size, console)
    if not done.texts:
        raise WrongUse(f"path: {path} holds no line that can be embedded")
    report(done, as_json=as_json)
    if done.bad or done.failed:
        raise typer.Exit(Exit.FAILED)


@dataclass(slots=True)
class EmbedCounts:
    """What became of the texts."""

    texts: int = 0
    there: int = 0
    embedded: int = 0
    unchanged: int = 0
    model: str | None = None
    dimensions: int | None = None
    usage: Counter[str] = field(default_factory=Counter)
    failed: list[dict[str, str]] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)

    def see(self, advance: EmbedProgress, piece: FileSlice) -> None:
        """Count a piece that is finished."""
        self.texts += len(piece.texts)
        self.there += advance.there
        self.bad += piece.bad
        if advance.reason:
            self.failed.append({"lines": f"{piece.first}-{piece.last}", "reason": advance.reason})
        if (result := advance.result) is not None:
            self.unchanged += result.unchanged
            lost = advance.refused
            self.embedded += max(len(piece.texts) - advance.there - result.unchanged - lost, 0)
            self.model, self.dimensions = result.model, result.dimensions
            self.usage.update(result.usage)


def follow(advances: Iterable[EmbedProgress], size: int, console: Console) -> EmbedCounts:
    """Show a progress bar and what went wrong; counts what became of the texts."""
    bar = progress_bar(
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), console=console,
    )  # fmt: skip
    counts, skipped, before = EmbedCounts(), 0, 0
    with bar:
        task = bar.add_task("embedding", total=size)
        for advance in advances:
            if (piece := advance.piece) is not None:
                # Texts of an earlier run took no time: the estimate must not count on that speed.
                skipped += 0 if advance.result or advance.reason else piece.end - before
                before = piece.end
                counts.see(advance, piece)
                _complain(advance, piece, console)
            bar.update(task, completed=advance.size - skipped, total=size - skipped)
    return counts


def _complain(advance: EmbedProgress, piece: FileSlice, console: Console) -> None:
    for line in piece.bad:
        console.print(f"line {line.number}: {line.reason}", style="red")
    if advance.reason:
        console.print(f"lines {piece.first} to {piece.last}: {advance.reason}", style="red")


def report(done: EmbedCounts, *, as_json: bool) -> None:
    """Print what became of the texts."""
    summary = {
        "texts": done.texts,
        "embedded": done.embedded,
        "there_already": done.there,
        "unchanged": done.unchanged,
        "failed": done.failed,
        "bad_lines": [{"line": line.number, "reason": line.reason} for line in done.bad],
        "model": done.model,
        "dimensions": done.dimensions,
        "usage": dict(done.usage),
    }
    if as_json:
        echo(json.dumps(summary, ensure_ascii=False))
    else:
        lost = done.texts - done.embedded - done.there - done.unchanged
        echo(
            f"{done.embedded} embedded, {done.there + done.unchanged} there already, {lost} failed, "
            f"{len(done.bad)} bad lines"
        )


def _size(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        raise WrongUse(f"path: {why_unusable(error)}") from error


@contextmanager
def _opened(out: Path | None) -> Iterator[VectorFile | None]:
    if out is None:
        yield None
        return
    try:
        file = VectorFile(out)
    except OSError as error:
        raise WrongUse(f"--out: {why_unusable(error)}") from error
    with file:
        yield file
