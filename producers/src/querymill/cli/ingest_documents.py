"""``querymill ingest reports`` of documents as they are: what was read is shown, and what became of it."""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from querymill.cli.exits import Exit
from querymill.cli.kind import Kind
from querymill.cli.labels import labelled_mill
from querymill.cli.progress import outcomes_with_bar
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.ingesting.ingestion_log import BatchRecord, recorded
from querymill.ingesting.jsonl import Lines
from querymill.ingesting.sources.documents import DocumentFeed, DocumentOptions, LoadedFiles, Say, found_at
from querymill.ingesting.submitting import LoadProgress, pack
from querymill.presenting.numbers import quantity
from querymill_reading.process import FileReader
from querymill_reading.sources import FileSource, LeftOut

#: Documents and files that ``--json`` names; of more it gives the number.
NAMED: Final = 1_000
#: Files left out that are named on a terminal, for each reason.
SHOWN: Final = 5


def load_documents(
    kind: Kind[Any], paths: Sequence[str], collection: str, options: DocumentOptions, *, as_json: bool
) -> None:
    """Read documents and load them.

    Raises:
        UnusablePath: There is nothing to read, or a field breaks a rule.
        typer.Exit: A file was not loaded; the others were.
    """
    console = Console(stderr=True)
    with FileReader() as reader:
        reader.start()  # it imports the engines while this connects and asks what is stored
        with labelled_mill() as mill, recorded(mill, kind.name, collection) as (noting, record):
            done = loaded(noting, reader, kind.loadable.documents, paths, collection, options, console, record)
    report(done, console, as_json=as_json)
    if done.failures or done.outcomes("failed"):
        raise typer.Exit(Exit.FAILED)


def loaded(
    mill: Querymill,
    reader: FileReader,
    lines: Lines[Any],
    paths: Sequence[str],
    collection: str,
    options: DocumentOptions,
    console: Console,
    record: BatchRecord | None = None,
) -> LoadedFiles:
    """Read documents, load them, and return what became of each.

    Raises:
        UnusablePath: There is nothing to read, or a field breaks a rule.
    """
    done = LoadedFiles()
    with tempfile.TemporaryDirectory(prefix="querymill-") as made:
        folder = Path(made)
        found, roots = found_at(paths, folder)
        feed = DocumentFeed(
            mill, reader, lines, collection, options, done, folder, _sayer(console), _namer(console, record)
        )
        feed.learn_what_is_stored(found, roots)
        size = sum(source.path.stat().st_size for source in found if isinstance(source, FileSource))
        for outcome in outcomes_with_bar(
            mill, pack(feed.lines_of(found), lines.asking(collection)), console, size=size
        ):
            _note(outcome, done, console)
        if options.sync:
            feed.drop_removed(roots)
    return done


def _sayer(console: Console) -> Say:
    return lambda said, style: console.print(said, style=style or None, markup=False)


def _namer(console: Console, record: BatchRecord | None) -> Callable[[LeftOut], None]:
    def name(left: LeftOut) -> None:
        if left.failed and record is not None:
            record.refuse(left.reason, place=left.place)
        if left.failed:
            console.print(f"{left.place}: {left.reason}", style="red", markup=False)

    return name


def _note(outcome: LoadProgress, done: LoadedFiles, console: Console) -> None:
    """Note what became of a document."""
    document = done.documents[str(outcome.document)]
    if outcome.result is None:
        document["outcome"], document["reason"] = "failed", outcome.reason
        console.print(f"{document['source']}: {outcome.reason}", style="red", markup=False)
    else:
        document["outcome"] = outcome.result.outcome
        done.passages += outcome.result.total


def report(done: LoadedFiles, console: Console, *, as_json: bool) -> None:
    """Print what was loaded and what was not."""
    counts = {name: done.outcomes(name) for name in ("ingested", "superseded", "forgotten", "failed")}
    unchanged = done.unchanged + done.outcomes("unchanged")
    skipped = [left for left in done.left_out if not left.failed]
    if as_json:
        summary = {
            **counts,
            "unchanged": unchanged,
            "dropped": done.dropped,
            "pages": done.pages,
            "passages": done.passages,
            "documents": [
                {name: value for name, value in document.items() if name != "stamp"}
                for document in list(done.documents.values())[:NAMED]
            ],
            "unreadable": [{"source": left.place, "reason": left.reason} for left in done.failures[:NAMED]],
            "unreadable_count": len(done.failures),
            "skipped": [{"source": left.place, "reason": left.reason} for left in skipped[:NAMED]],
            "skipped_count": len(skipped),
        }
        echo(json.dumps(summary, ensure_ascii=False, default=str))
        return
    for reason in dict.fromkeys(left.reason for left in skipped):
        places = [left.place for left in skipped if left.reason == reason]
        more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
        console.print(f"left out, {reason}: {', '.join(places[:SHOWN])}{more}", style="yellow", markup=False)
    others = "".join(f"{counts[name]} {name}, " for name in ("superseded", "forgotten") if counts[name])
    dropped = f", {done.dropped} dropped" if done.dropped else ""
    read = f"{quantity(done.pages, 'pages')}, {quantity(done.passages, 'passages')}"
    echo(
        f"{quantity(counts['ingested'], 'documents')} ingested ({read}), {unchanged} unchanged, {others}"
        f"{counts['failed']} failed, {len(done.failures)} unreadable, {len(skipped)} left out{dropped}"
    )
