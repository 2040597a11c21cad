"""``querymill conversations``: add live messages, drop sessions."""

import json
from pathlib import Path
from typing import Annotated

import typer

from querymill.broken_rules import rule_broken
from querymill.cli.exits import WrongUse
from querymill.cli.jobs import JsonOption
from querymill.cli.terminal import echo
from querymill.client.mill import Querymill
from querymill_shared.contracts.conversations.ingest import (
    DropConversation,
    IngestConversationResult,
    UpdateConversation,
)

Collection = Annotated[str, typer.Option(help="the collection")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Add live messages to conversations, or drop them.", no_args_is_help=True)
    group.command("update")(update)
    group.command("drop")(drop)
    app.add_typer(group, name="conversations")


def update(
    file: Annotated[Path, typer.Argument(help='a JSON file: {"session_id", "messages": [{"message_id", "text"}]}')],
    collection: Collection,
    as_json: JsonOption = False,
) -> None:
    """Add messages to a session; a message replaces the one with the same id."""
    try:
        given = {"collection": collection, "update": json.loads(file.read_bytes())}
        asked = UpdateConversation.model_validate(given)
    except OSError as error:
        raise WrongUse(f"file: {error}") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(rule_broken(error, below="update")) from error
    with Querymill() as mill:
        report(mill.submit(asked).result(), as_json=as_json)


def drop(
    session_id: Annotated[str, typer.Argument(help="the session")], collection: Collection, as_json: JsonOption = False
) -> None:
    """Drop a session; dropping a session that does not exist changes nothing."""
    with Querymill() as mill:
        report(mill.submit(DropConversation(collection=collection, session_id=session_id)).result(), as_json=as_json)


def report(result: IngestConversationResult, *, as_json: bool) -> None:
    """Print what became of the session."""
    said = f"{result.session_id} {result.outcome}, {result.total} messages"
    echo(result.model_dump_json() if as_json else said)
