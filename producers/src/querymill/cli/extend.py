"""``querymill extend``: add live messages to a session."""

import json
from pathlib import Path
from typing import Annotated, Final, get_args

import typer

from querymill.broken_rules import rule_broken
from querymill.cli.exits import WrongUse
from querymill.cli.jobs import JsonOption
from querymill.cli.terminal import echo
from querymill.client.mill import Querymill
from querymill_shared.contracts.ingest import Extend

KINDS: Final = ", ".join(get_args(Extend.model_fields["retriever"].annotation))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("extend")(extend)


def extend(
    kind: Annotated[str, typer.Argument(help=f"the kind: {KINDS}")],
    file: Annotated[Path, typer.Argument(help='a JSON file: {"session_id", "messages": [{"message_id", "text"}]}')],
    collection: Annotated[str, typer.Option(help="the collection")],
    as_json: JsonOption = False,
) -> None:
    """Add messages to a session.

    Of conversations, a message replaces the one with the same id. Of messages, "after" says how many are stored.
    """
    try:
        given = {"collection": collection, "retriever": kind, "documents": [json.loads(file.read_bytes())]}
        asked = Extend.model_validate(given)
    except OSError as error:
        raise WrongUse(f"file: {error}") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(rule_broken(error, below="documents.0").removeprefix("line: documents.0.")) from error
    with Querymill() as mill:
        result = mill.submit(asked).result()
    (session,) = result.documents
    counted = "messages" if kind == "conversations" else "passages"
    said = f"{session.document} {session.outcome}, {session.total} {counted}"
    echo(result.model_dump_json() if as_json else said)
