"""``querymill eval feedback``: make a set of what people said of hits."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from querymill.cli.exits import WrongUse
from querymill.cli.terminal import echo
from querymill.client.mill import Querymill
from querymill.client.transport import RETRIEVERS
from querymill_evaluation.drafting import with_message_ids
from querymill_evaluation.feedback_sets import JudgedQuery, qrels_lines, queries_of, query_lines
from querymill_shared.contracts.feedback import KeptJudgement, ListFeedback
from querymill_shared.contracts.filters import Retriever


def feedback(
    collection: Annotated[str, typer.Argument(help="the collection whose searches were judged")],
    kind: Annotated[str, typer.Option(help=f"the kind of the searches: {', '.join(RETRIEVERS)}")],
    out: Annotated[
        Path | None, typer.Option(help="a new folder for the set (default: COLLECTION-feedback)", show_default=False)
    ] = None,
) -> None:
    """Make a set of what people said of hits, with the documents of the collection. `querymill eval` measures it."""
    retriever = next((retriever for retriever in RETRIEVERS if retriever == kind), None)
    if retriever is None:
        raise WrongUse(f"--kind: {kind!r} is not one of: {', '.join(RETRIEVERS)}")
    folder = Path(f"{collection}-feedback") if out is None else out
    if folder.exists() and any(folder.iterdir()):
        raise WrongUse(f"--out: {folder} must be a new or an empty folder")
    with Querymill() as mill:
        queries, unnamed = queries_of(retriever, list_judgements(mill, collection, retriever))
        if not queries:
            raise WrongUse(f"collection: no search of {kind} in {collection!r} was judged")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "corpus.jsonl").open("w", encoding="utf-8") as lines:
            for document in mill.export(retriever, collection=collection):
                lines.write(json.dumps(with_message_ids(kind, document), ensure_ascii=False) + "\n")
    write(folder / "queries.jsonl", query_lines(queries))
    write(folder / "qrels.tsv", qrels_lines(queries))
    tell(queries, unnamed, folder, kind)


def list_judgements(mill: Querymill, collection: str, retriever: Retriever) -> Iterator[KeptJudgement]:
    """Yield all judgements of the searches of a collection."""
    after: str | None = None
    while True:
        request = ListFeedback(collection=collection, of=retriever, after=after)
        page = mill.submit(request).result(timeout=request.deadline + 10)
        yield from page.judgements
        after = page.cursor
        if after is None:
            return


def write(path: Path, lines: list[str]) -> None:
    """Write lines to a file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def tell(queries: list[JudgedQuery], unnamed: int, folder: Path, kind: str) -> None:
    """Say what the set has, and how to measure it."""
    grades = [grade for query in queries for grade in query.grades.values()]
    relevant = sum(grade > 0 for grade in grades)
    echo(f"{len(queries)} questions with {len(grades)} judgements, {relevant} of them relevant, in {folder}")
    if unnamed:
        echo(f"{unnamed} judgements are left out: they are about messages without an id")
    echo(f"measure: querymill eval {folder} --kind {kind}")
