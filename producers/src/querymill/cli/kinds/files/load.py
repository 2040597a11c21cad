"""``querymill ingest files``: bring a collection up to date with a code base; unchanged files are not sent."""

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import typer

from querymill.cli.exits import Exit
from querymill.cli.labels import labelled_mill
from querymill.cli.progress import with_bar
from querymill.cli.terminal import Console, echo
from querymill.code_bases.listing import ListedFile, NotedFolder
from querymill.code_bases.reading import SECRET
from querymill.ingesting.ingestion_log import recorded
from querymill.ingesting.jsonl import STDIN
from querymill.ingesting.kinds.files import LINES, lines_of
from querymill.ingesting.sources.code_bases import code_base_at
from querymill.ingesting.sources.comparing import Listing, compare, find
from querymill.ingesting.submitting import LoadProgress, pack
from querymill.presenting.numbers import quantity
from querymill_shared.contracts.files.ingest import CompareFilesResult, IngestFilesResult

#: Skipped files that are named for each reason; ``--json`` names all.
NAMED: Final = 10
SECRETS_ADVICE: Final = "--include-secrets ingests it"


def load(path: Path, collection: str, *, as_json: bool, include_secrets: bool = False, vectors: bool = False) -> None:
    """Bring a collection up to date with a directory, or add files from JSON lines, which may be standard input."""
    with readable(path) as place:
        _load(place, collection, as_json=as_json, include_secrets=include_secrets, vectors=vectors)


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """Give a path that can be read twice. Standard input is copied to a temporary file."""
    if path != STDIN:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        yield Path(kept.name)


def _load(path: Path, collection: str, *, as_json: bool, include_secrets: bool, vectors: bool) -> None:
    console = Console(stderr=True)
    code_base = code_base_at(path, include_secrets=include_secrets)
    found = find(code_base, path)
    with labelled_mill() as connected, recorded(connected, "files", collection) as (mill, record):
        for skipped in found.skipped:
            if skipped.failed:
                record.refuse(skipped.reason, place=skipped.path)
        compared = compare(mill, found, collection, remove=path.is_dir() and found.is_whole, vectors=vectors)
        lines, changed = LINES.asking_for_vectors() if vectors else LINES, code_base.read(frozenset(compared.changed))
        size = sum(found.listed[changed].size for changed in compared.changed)
        outcomes = with_bar(mill, pack(lines_of(changed), lines.asking(collection)), console, size=size)
    report(found, compared, outcomes, console, as_json=as_json)
    if not found.is_whole or any(outcome.result is None for outcome in outcomes):
        raise typer.Exit(Exit.FAILED)


def report(
    found: Listing, compared: CompareFilesResult, outcomes: Sequence[LoadProgress], console: Console, *, as_json: bool
) -> None:
    """Print what was loaded, what was not, and what was dropped."""
    summary = summarised(found, compared, outcomes)
    if as_json:
        echo(json.dumps(summary, ensure_ascii=False))
        return
    for reason, paths in by_reason(found).items():
        more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        console.print(f"{len(paths)} {reason}: {', '.join(paths[:NAMED])}{more}", style="yellow")
    for failed in summary["failed"]:
        console.print(f"{failed['document']}: {failed['reason']}", style="red")
    if compared.removed:
        console.print(f"dropped: {', '.join(compared.removed[:NAMED])}")
    echo(
        f"{quantity(summary['ingested'], 'files')} ingested"
        f" ({quantity(summary['symbols'], 'symbols')}, {quantity(summary['chunks'], 'chunks')}),"
        f" {summary['unchanged']} unchanged, {len(compared.removed)} dropped, {len(found.skipped)} skipped,"
        f" {len(summary['failed'])} batches failed"
        + (f"; {summary['pending']} chunks wait for their vectors" if summary["pending"] else "")
    )
    if not found.is_whole:
        echo("Not everything could be read, so nothing was dropped.")


def summarised(found: Listing, compared: CompareFilesResult, outcomes: Sequence[LoadProgress]) -> dict[str, Any]:
    """Count what was done."""
    counted = Counter(outcome.result.outcome for outcome in outcomes if outcome.result is not None)
    jobs = [outcome.job for outcome in outcomes if isinstance(outcome.job, IngestFilesResult)]
    return {
        "files": len(found.listed),
        "ingested": counted["ingested"],
        "unchanged": len(found.listed) - len(compared.changed) + counted.total() - counted["ingested"],
        "symbols": sum(job.symbols for job in jobs),
        "chunks": sum(job.total for job in jobs),
        "pending": jobs[-1].pending if jobs else compared.pending,
        "removed": list(compared.removed),
        "skipped": [{"path": file.path, "reason": file.reason} for file in found.skipped],
        "remarks": [{"path": entry.path, "remark": entry.remark} for entry in remarked(found)],
        "failed": [{"document": lost.document, "reason": lost.reason} for lost in outcomes if lost.result is None],
    }


def remarked(found: Listing) -> list[ListedFile | NotedFolder]:
    """List the files and folders of which there is something to say, though they are ingested."""
    return [*found.noted, *(listed for listed in found.listed.values() if listed.remark)]


def by_reason(found: Listing) -> dict[str, list[str]]:
    """Group the paths of files by what there is to report about them."""
    said: dict[str, list[str]] = {}
    for skipped in found.skipped:
        advice = f" ({SECRETS_ADVICE})" if skipped.reason.startswith(SECRET) else ""
        said.setdefault(f"skipped, {skipped.reason}{advice}", []).append(skipped.path)
    for entry in remarked(found):
        said.setdefault(entry.remark, []).append(entry.path)
    return said
