"""``querymill list``, ``show``, ``export``, ``drop`` and ``collections``: what is stored, and how to be rid of it."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TextIO, cast

import typer
from rich.table import Table
from rich.text import Text

from querymill.cli.exits import WrongUse
from querymill.cli.jobs import JsonOption
from querymill.cli.reading_back import print_part, since
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.client.transport import RETRIEVERS
from querymill.filters import HELP, read_filter
from querymill.presenting.numbers import day_or_time, quantity
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.errors import UnknownCollection
from querymill_shared.contracts.filters import Retriever

Kind = Annotated[str, typer.Argument(help=f"the kind: {', '.join(RETRIEVERS)}")]
Collection = Annotated[str, typer.Option(help="the collection")]
Filters = Annotated[list[str] | None, typer.Option("--filter", help=HELP)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("list")(list_documents)
    app.command("show")(show)
    app.command("export")(export)
    app.command("drop")(drop)
    app.command("collections")(collections)


def list_documents(
    kind: Kind,
    collection: Collection,
    conditions: Filters = None,
    since_when: Annotated[
        str | None, typer.Option("--since", help="a day, a time, or a span such as 24h, 7d or 2w")
    ] = None,
    limit: Annotated[int, typer.Option(help="documents on the page, at most 1000")] = 100,
    cursor: Annotated[str | None, typer.Option(help="where the page before ended")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents of a collection in the order of their ids, and count all that pass the filter."""
    retriever = retriever_named(kind)
    asked = filter_of(conditions, retriever)
    if since_when is not None:
        asked |= since(since_when, retriever, datetime.now(UTC))
    with Querymill() as mill:
        page = mill.list(retriever, collection=collection, filter=asked, limit=limit, cursor=cursor)
        if not page.total:
            refuse_unknown(mill, retriever, collection)
    if as_json:
        echo(page.model_dump_json())
        return
    console = Console()
    if page.documents:
        console.print(table_of(page.documents))
    console.print(f"{len(page.documents)} of {page.total}")
    if page.cursor is not None:
        console.print(f"next page: --cursor {page.cursor}", soft_wrap=True)


#: Characters of an id that are kept on one line: those of a hash.
ID_WIDTH: Final = 40


def table_of(cards: Sequence[DocumentCard]) -> Table:
    """Format documents as a table, one row each. What is too wide for the terminal is cut, but never an id."""
    table = Table(box=None)
    # An id that was cut could not be pasted. A hash stays on one line, a long path continues on the next.
    longest = max((len(card.id) for card in cards), default=2)
    table.add_column("id", overflow="fold", min_width=min(longest, ID_WIDTH), no_wrap=longest <= ID_WIDTH)
    table.add_column("when", no_wrap=True)
    table.add_column("size", no_wrap=True, justify="right")
    waits = any(card.pending for card in cards)
    if waits:
        table.add_column("pending", no_wrap=True, justify="right")
    table.add_column("title")
    table.add_column("metadata")
    for card in cards:
        pending = [str(card.pending or "")] if waits else []
        metadata = json.dumps(dict(card.metadata), ensure_ascii=False, default=str) if card.metadata else ""
        size = quantity(card.size, card.unit)
        table.add_row(
            card.id,
            day_or_time(card.when) if card.when else "",
            size,
            *pending,
            one_line(card.title or ""),
            one_line(metadata),
        )
    return table


def one_line(text: str) -> Text:
    """Return text that is cut where its column ends."""
    return Text(" ".join(text.split()), no_wrap=True, overflow="ellipsis")


def show(
    kind: Kind,
    document: Annotated[str, typer.Argument(help="the document's id")],
    collection: Collection,
    message: Annotated[
        str | None, typer.Option("--around", help="of a session, this message (id, or number) and those around it")
    ] = None,
    context: Annotated[int, typer.Option(min=0, help="messages before and after that of --around")] = 5,
    page: Annotated[int | None, typer.Option(min=1, help="of a report, the text of this page")] = None,
    passage: Annotated[str | None, typer.Option(help="text to mark on the page, such as that of a hit")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show one document whole, as JSON that can be ingested again; or a message with its neighbours, or a page."""
    retriever = retriever_named(kind)
    with Querymill() as mill:
        found = mill.show(retriever, document, collection=collection)
    if message is not None or page is not None:
        print_part(
            retriever, found, message=message, context=context, page_number=page, passage=passage, as_json=as_json
        )
        return
    echo(json.dumps(found, ensure_ascii=False, indent=None if as_json else 2))


def export(
    kind: Kind,
    collection: Collection,
    conditions: Filters = None,
    out: Annotated[Path | None, typer.Option(help="the file to write; without it, the screen")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write documents as JSON lines, which `querymill ingest` reads again; with --out, --json tells how many."""
    retriever = retriever_named(kind)
    chosen = filter_of(conditions, retriever)
    try:
        target = nullcontext(sys.stdout) if out is None else out.open("w", encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"out: {error}") from error
    with Querymill() as mill, cast("Any", target) as lines:
        exported = written(mill, retriever, collection, chosen, lines)
        if not exported:
            refuse_unknown(mill, retriever, collection)
    if out is not None:
        echo(json.dumps({"exported": exported}) if as_json else f"{exported} {kind} exported to {out}")


def written(
    mill: Querymill, retriever: Retriever, collection: str, conditions: Mapping[str, Any], lines: TextIO
) -> int:
    """Write documents as JSON lines. Return how many there were."""
    count = 0
    for document in mill.export(retriever, collection=collection, filter=conditions):
        count += 1
        # ASCII, so that a terminal acts upon nothing and every reader splits the lines alike.
        lines.write(json.dumps(document) + "\n")
    return count


def drop(
    kind: Annotated[str, typer.Argument(help=f"the kind: {', '.join(RETRIEVERS)}, or all")],
    collection: Collection,
    document: Annotated[str | None, typer.Argument(help="the document's id")] = None,
    conditions: Filters = None,
    everything: Annotated[bool, typer.Option("--everything", help="all that the collection holds of the kind")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
    as_json: JsonOption = False,
) -> None:
    """Drop documents for good, with their words, vectors, ranks, cached results and what jobs still hold of them."""
    if (document is not None) + bool(conditions) + everything != 1:
        raise WrongUse("drop: give an id, --filter or --everything")
    if kind == "all" and document is not None:
        raise WrongUse("kind: an id belongs to one kind; give --filter or --everything")
    chosen = RETRIEVERS if kind == "all" else (retriever_named(kind),)
    with Querymill() as mill:
        if not yes:
            ask(mill, chosen, collection, document, conditions)
        results = [
            mill.drop(
                retriever,
                collection=collection,
                ids=() if document is None else (document,),
                filter=filter_of(conditions, retriever),
                everything=everything,
            )
            for retriever in chosen
        ]
    for result in results:
        said = f"{_counted(result.total)} of {result.retriever} dropped from {collection}"
        echo(result.model_dump_json() if as_json else said)


def ask(
    mill: Querymill,
    chosen: Sequence[Retriever],
    collection: str,
    document: str | None,
    conditions: Sequence[str] | None,
) -> None:
    """Say what will be dropped, and ask.

    Raises:
        WrongUse: Nobody is there to ask.
        typer.Exit: The answer is no.
    """
    if not sys.stdin.isatty():
        raise WrongUse("drop: nobody can be asked here; give --yes")
    console = Console(stderr=True)
    for retriever in chosen:
        found = mill.list(retriever, collection=collection, filter=filter_of(conditions, retriever), limit=1)
        meant = _counted(found.total) if document is None else document
        console.print(f"{retriever} of {collection}: {meant}")
    if not typer.confirm("Drop for good?", err=True):
        raise typer.Exit(1)


def _counted(documents: int) -> str:
    return "1 document" if documents == 1 else f"{documents} documents"


def collections(as_json: JsonOption = False) -> None:
    """List the collections that can be searched, with the kinds that each holds."""
    with Querymill() as mill:
        found = mill.collections()
    if as_json:
        echo(json.dumps(found))
        return
    table = Table("collection", "kinds", box=None)
    for name, kinds in found.items():
        table.add_row(name, ", ".join(kinds))
    Console().print(table)


def retriever_named(kind: str) -> Retriever:
    """Return a kind by its name.

    Raises:
        WrongUse: There is none.
    """
    if kind not in RETRIEVERS:
        raise WrongUse(f"kind: {kind!r} is not one of: {', '.join(RETRIEVERS)}")
    return kind


def refuse_unknown(mill: Querymill, retriever: Retriever, collection: str) -> None:
    """Say that a collection is unknown, of which nothing was found.

    Raises:
        UnknownCollection: It holds nothing of the kind.
    """
    known = mill.collections()
    if retriever not in known.get(collection, ()):
        raise UnknownCollection(collection, retriever, [name for name, kinds in known.items() if retriever in kinds])


def filter_of(conditions: Sequence[str] | None, retriever: Retriever | None) -> dict[str, Any]:
    """Read the conditions of a command.

    Raises:
        WrongUse: One of them cannot be read.
    """
    try:
        return read_filter(conditions or (), retriever)
    except ValueError as error:
        raise WrongUse(str(error)) from error
