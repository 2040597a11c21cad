"""``querymill ingest``: load documents from a file or a pipe, with progress; what is stored already costs nothing."""

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from io import FileIO
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer

from querymill.cli.exits import Exit, WrongUse
from querymill.cli.ingest_documents import load_documents
from querymill.cli.ingest_histories import load_histories
from querymill.cli.kind import Kind
from querymill.cli.kinds import kind_named
from querymill.cli.labels import LabelOption, give_labels, labelled_mill
from querymill.cli.progress import outcomes_with_bar
from querymill.cli.terminal import Console, echo, saying_if_interrupted
from querymill.extras import needing
from querymill.ingesting.ingestion_log import BatchRecord, recorded
from querymill.ingesting.jsonl import STDIN, BadLine, GoodLine
from querymill.ingesting.kinds import NAMES
from querymill.ingesting.loading import check_collection
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import PathOptions
from querymill.ingesting.sources.documents import DocumentOptions
from querymill.ingesting.sources.histories import FROM, HistoryOptions, are_histories
from querymill.ingesting.sources.lines import are_lines, plain_file
from querymill.ingesting.sources.paths import refuse_foreign
from querymill.ingesting.submitting import pack
from querymill.presenting.numbers import quantity
from querymill_histories.compressed import BROKEN as DAMAGED
from querymill_histories.compressed import open_plain
from querymill_histories.finding import why_unknown

#: What may become of a document that did not fail.
STORED: Final = ("ingested", "unchanged", "superseded", "forgotten")

#: Where there is something to load.
Paths = Annotated[
    list[str],
    typer.Argument(
        default_factory=list,
        metavar="PATH",
        show_default=False,
        help="a file of JSON lines, or - for standard input; for files a directory, or JSON lines;"
        " for reports also documents, folders, patterns and archives of them; for conversations and messages"
        " also histories, by default those in the places where the tools keep them",
    ),
]
#: What opens encrypted documents.
Password = Annotated[
    str | None, typer.Option(envvar="QUERYMILL_DOCUMENT_PASSWORD", help="documents: what opens encrypted ones")
]
#: Whether known secrets are read.
IncludeSecrets = Annotated[
    bool, typer.Option("--include-secrets", help="files: also private keys, .env, and what holds a known token")
]

#: Whether code is searched by meaning too.
Vectors = Annotated[
    bool,
    typer.Option(
        "--vectors",
        help="files: make vectors, for search by meaning; once asked for, every later ingestion makes them too",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    goes_on = "what was submitted is still loaded; run the same command again for the rest"
    app.command("ingest")(saying_if_interrupted(load, goes_on))


def load(
    kind: Annotated[str, typer.Argument(help=f"what is loaded: {NAMES}")],
    paths: Paths,
    collection: Annotated[str, typer.Option(help="the collection to load into")],
    title: Annotated[str | None, typer.Option(help="documents: the title, instead of the proposed one")] = None,
    company: Annotated[str | None, typer.Option(help="documents: the company that they are about")] = None,
    period: Annotated[str | None, typer.Option(help="documents: the period, as 2022 or 2022 Q3")] = None,
    published_at: Annotated[str | None, typer.Option(help="documents: the day of publication, as 2022-05-20")] = None,
    password: Password = None,
    ocr: Annotated[bool, typer.Option("--ocr", help="documents: read scans and pictures in PDF by Tesseract")] = False,
    sync: Annotated[
        bool, typer.Option("--sync", help="documents: drop those whose files are no longer in the folder")
    ] = False,
    origin: Annotated[str | None, typer.Option("--from", help=f"histories: the tool that wrote them: {FROM}")] = None,
    tools: Annotated[str | None, typer.Option(help="histories: tool calls as none, summary or full")] = None,
    time_zone: Annotated[str | None, typer.Option(help="histories: of times that name none; else UTC")] = None,
    include_secrets: IncludeSecrets = False,
    vectors: Vectors = False,
    label: LabelOption = None,
    is_watched: Annotated[
        bool, typer.Option("--watch", help="then ingest what changes, until Ctrl-C; of sessions, new messages only")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON object; with --watch one for each change")
    ] = False,
) -> None:
    """Load documents; a bad line is reported with its number and reason, the rest is loaded.

    A file is read while it is loaded, so it may be of any size. With files, those that the ignore files of a directory
    name are left out, known secrets and minified files too, and those that are no longer in the directory are dropped
    from the collection. What is left out is listed at the end. A large code base gets vectors if --vectors asks once.

    With reports, PDF, HTML, Office, OpenDocument, RTF, CSV, mails, EPUB and text are read as they are. Title, company,
    period and day are proposed and shown; options, and a metadata.csv beside the files, override them. A line of JSON
    needs only its "pages".

    With conversations and messages, the histories of coding assistants and exports of chats are read as they are. They
    are recognised by what they begin with.
    """
    chosen = kind_named(kind)
    refuse_name(collection)
    give_labels(label)
    given = PathOptions(
        title=title, company=company, period=period, published_at=published_at, password=password, ocr=ocr,
        sync=sync, origin=origin, tools=tools, time_zone=time_zone, include_secrets=include_secrets, vectors=vectors,
    )  # fmt: skip
    histories = HistoryOptions(origin, tools, time_zone)
    as_documents = chosen.loadable.reads_documents and bool(paths) and not (len(paths) == 1 and are_lines(paths[0]))
    refuse_foreign(chosen.loadable, given, as_documents=as_documents)
    options = DocumentOptions.of(given)
    as_histories = not as_documents and chosen.loadable.reads_histories and are_histories(paths, histories)
    if is_watched:
        said = (chosen, paths, collection, options, histories, as_json, include_secrets, vectors)
        follow(said, as_documents=as_documents, as_histories=as_histories)
    elif as_documents:
        load_documents(chosen, paths, collection, options, as_json=as_json)
    elif as_histories:
        load_histories(chosen, paths, collection, histories, as_json=as_json)
    else:
        load_path(chosen, paths, collection, include_secrets=include_secrets, vectors=vectors, as_json=as_json)


def follow(said: tuple[Any, ...], *, as_documents: bool, as_histories: bool) -> None:
    """Follow what is at the paths; ``said`` are the fields of `Watching`."""
    with needing("watch", what="--watch"):
        from querymill.cli.ingest_watch import Watching, watch
    watch(Watching(*said), as_documents=as_documents, as_histories=as_histories)


def refuse_name(collection: str) -> None:
    """Refuse a name that no collection may have, once and not for every line.

    Raises:
        WrongUse: It is such a name.
    """
    try:
        check_collection(collection)
    except ValueError as error:
        rule = "up to 64 letters (A to Z), digits, '.', '_' and '-', the first of them a letter or a digit"
        raise WrongUse(f"--collection: {collection!r}: must be {rule}") from error


def load_path(
    chosen: Kind[Any], paths: list[str], collection: str, *, include_secrets: bool, vectors: bool, as_json: bool
) -> None:
    """Load one path: JSON lines, or what the kind has a way of its own for.

    Raises:
        WrongUse: There is no path, or more than one.
    """
    if not paths:
        raise WrongUse(f"path: must be given for {chosen.name}")
    if len(paths) > 1:
        raise WrongUse(f"path: one at a time for {chosen.name}")
    path = Path(paths[0])
    if chosen.load is None:
        load_lines(chosen, path, collection, as_json=as_json)
    else:
        with plain_file(path) as plain:
            asked = {"include_secrets": include_secrets, "vectors": vectors}
            chosen.load(plain, collection, as_json=as_json, **asked)


def load_lines(chosen: Kind[Any], path: Path, collection: str, *, as_json: bool) -> None:
    """Ingest the documents of a file of JSON lines while it is read.

    Raises:
        WrongUse: The file cannot be read, or none of its lines can be loaded.
        typer.Exit: A line or a document was not loaded; the others were.
    """
    console, done, lines = Console(stderr=True), Ingestion(), chosen.loadable.documents
    with (
        opened(path) as stream,
        labelled_mill() as mill,
        recorded(mill, chosen.name, collection) as (noting, record),
    ):
        good = good_lines(lines.read_stream(stream), done, console, record)
        for outcome in outcomes_with_bar(noting, pack(good, lines.asking(collection)), console, size=size_of(stream)):
            done.add(outcome)
            if outcome.result is None:
                console.print(f"{outcome.document}: {outcome.reason}", style="red")
    if done.outcomes.keys() <= {"bad"}:
        why = f"; as a history: {why_unknown(path)}" if chosen.loadable.reads_histories and path != STDIN else ""
        raise WrongUse(f"path: {path} holds no line that can be loaded{why}")
    report(done, counted=lines.counted, as_json=as_json)
    if not done.is_clean:
        raise typer.Exit(Exit.FAILED)


def opened(path: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file, or standard input.

    Raises:
        WrongUse: It cannot be opened.
    """
    try:
        return nullcontext(sys.stdin.buffer) if path == STDIN else open_plain(path)
    except OSError as error:
        raise WrongUse(f"path: {error}") from error


def size_of(stream: BinaryIO) -> float | None:
    """Return the length of a file in bytes, or None if it is not known before it is read."""
    if not isinstance(getattr(stream, "raw", None), FileIO):
        return None  # what a compressed file holds is known when it is read
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def good_lines(
    read: Iterable[GoodLine[Any] | BadLine], done: Ingestion, console: Console, record: BatchRecord
) -> Iterator[GoodLine[Any]]:
    """Yield the lines that can be loaded, and report the others.

    Raises:
        WrongUse: The file cannot be read any further.
    """
    try:
        for line in read:
            if isinstance(line, GoodLine):
                yield line
            else:
                done.add_bad(line)
                record.refuse(line.reason, line=line.number)
                console.print(f"line {line.number}: {line.reason}", style="red")
    except (OSError, *DAMAGED) as error:
        raise WrongUse(f"path: {error}") from error


def report(done: Ingestion, *, counted: str, as_json: bool) -> None:
    """Print what was loaded."""
    number = done.outcomes
    if as_json:
        summary = {
            **{outcome: number[outcome] for outcome in STORED},
            counted: done.parts,
            "failed": [{"document": lost.document, "reason": lost.reason} for lost in done.failed],
            "bad_lines": [{"line": line.number, "reason": line.reason} for line in done.bad],
            "failed_count": number["failed"],
            "bad_line_count": number["bad"],
        }
        echo(json.dumps(summary, ensure_ascii=False))
        return
    replaced = "".join(f"{number[outcome]} {outcome}, " for outcome in STORED[2:] if number[outcome])
    echo(
        f"{number['ingested']} ingested ({quantity(done.parts, counted)}), {number['unchanged']} unchanged, {replaced}"
        f"{number['failed']} failed, {quantity(number['bad'], 'bad lines')}"
    )
