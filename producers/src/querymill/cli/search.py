"""``querymill search``: ask one question, watch the search, and see the hits."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Protocol

import typer
from pydantic import Field, TypeAdapter

from querymill.cli import search_all
from querymill.cli.documents import filter_of, retriever_named
from querymill.cli.exits import WrongUse
from querymill.cli.kind import Kind
from querymill.cli.kinds import KINDS
from querymill.cli.labels import read_labels
from querymill.cli.options import given_fields, signature_of
from querymill.cli.request_file import fields_in, turns_in
from querymill.cli.terminal import Console, echo
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.submit_options import SubmitOptions, options_beside

_SEARCHES: Final[TypeAdapter[KindSearch]] = TypeAdapter(Annotated[KindSearch, Field(discriminator="kind")])


def register(app: typer.Typer) -> None:
    """Add the commands, one per kind."""
    group = typer.Typer(help="Search a collection: live progress, then the hits.", no_args_is_help=True)
    for kind in KINDS:
        group.command(kind.name)(command_of(kind, run))
    group.command(search_all.NAME)(search_all.command())
    app.add_typer(group, name="search")


class CommandBody(Protocol):
    """Does what a command is for."""

    def __call__(self, kind: Kind[Any], request: KindSearch, options: SubmitOptions, *, as_json: bool) -> None:
        """Do it."""
        ...


def command_of(kind: Kind[Any], run: CommandBody) -> Callable[..., None]:
    """Make the command of a kind: its options are the fields of the search, and it runs with the request they make."""

    def command(**parameters: Any) -> None:
        request, options = request_of(kind, parameters)
        run(kind, request, options.labelled(read_labels(parameters["label"])), as_json=parameters["as_json"])

    signature = signature_of(kind.search, kind.flags)
    command.__doc__ = kind.help
    command.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return command


def request_of(kind: Kind[Any], parameters: Mapping[str, Any]) -> tuple[KindSearch, SubmitOptions]:
    """Make the request from a command's parameters; options override the fields of the request file.

    Return it with what stands beside its fields in that file.

    Raises:
        WrongUse: The request file cannot be used, or no collection is named.
        pydantic.ValidationError: A field breaks a rule.
    """
    path = parameters["request"]
    from_file, options = options_beside({} if path is None else fields_in(path, named="--request"))
    asked = kind.read(given_fields(parameters, kind.search), with_file=path is not None)
    if "history" in asked:
        asked["history"] = turns_in(asked["history"])
    if "filter" in asked:
        asked["filter"] = filter_of(asked["filter"], retriever_named(kind.name))
    fields = from_file | {"kind": kind.name} | asked
    if "query" in fields and "collection" not in fields:
        raise WrongUse("--collection: name the collection to search")
    return search_of(fields), options


def search_of(fields: Mapping[str, Any]) -> KindSearch:
    """Make a request from its fields.

    Raises:
        pydantic.ValidationError: a field breaks a rule.
    """
    return _SEARCHES.validate_json(json.dumps(fields, default=datetime.isoformat))


def run(kind: Kind[Any], request: KindSearch, options: SubmitOptions, *, as_json: bool) -> None:
    """Submit a search, follow it, and print its result."""
    timeout = request.deadline + 10
    with Querymill() as mill:
        job: Job[Any] = mill.submit_with(request, options)
        if as_json:
            echo(job.result(timeout=timeout).model_dump_json())
            return
        console = Console()
        try:
            kind.follow(console, request.query, job.events(timeout=timeout))
            kind.show(console, job.result(timeout=5))
        except KeyboardInterrupt:
            said = (
                f"{job.id} continues: querymill job events {job.id} follows it, querymill job cancel {job.id} ends it"
            )
            Console(stderr=True, soft_wrap=True).print(said)
            raise
