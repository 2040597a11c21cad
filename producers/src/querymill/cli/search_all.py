"""``querymill search all``: ask one question of every kind in every collection."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from rich.text import Text

from querymill.cli import screen
from querymill.cli.documents import filter_of
from querymill.cli.kinds.conversations.zone import in_zone
from querymill.cli.labels import read_labels
from querymill.cli.options import given_fields, signature_of
from querymill.cli.request_file import fields_in, turns_in
from querymill.cli.screen_hits import show_hits
from querymill.cli.terminal import Console, echo
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill.presenting.hit import HitView
from querymill.presenting.numbers import laps
from querymill_shared.contracts.search import JointHit, Search, SearchResult
from querymill_shared.contracts.submit_options import SubmitOptions, options_beside

NAME: Final = "all"
HELP: Final = "Ask one question of every kind of document; shows each branch live, then all hits in one ranking."
#: What a list of names is called where one is given at a time.
_FLAGS: Final = {"collections": "--collection", "kinds": "--kind", "branches": "--branch", "asked_first": "--first"}


def command() -> Callable[..., None]:
    """Make the command: its options are the fields of the search."""

    def asking(**parameters: Any) -> None:
        request, options = request_of(parameters)
        run(request, options.labelled(read_labels(parameters["label"])), as_json=parameters["as_json"])

    signature = signature_of(Search, _FLAGS)
    asking.__doc__ = HELP
    asking.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads
    asking.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return asking


def request_of(parameters: Mapping[str, Any]) -> tuple[Search, SubmitOptions]:
    """Make the request from the command's parameters; options override the fields of the request file.

    Return it with what stands beside its fields in that file.

    Raises:
        WrongUse: The request file or a filter cannot be used.
        pydantic.ValidationError: A field breaks a rule.
    """
    path = parameters["request"]
    from_file, options = options_beside({} if path is None else fields_in(path, named="--request"))
    asked = in_zone(given_fields(parameters, Search), with_file=path is not None)
    if "history" in asked:
        asked["history"] = turns_in(asked["history"])
    if "filter" in asked:
        asked["filter"] = filter_of(asked["filter"], None)
    return Search.model_validate_json(json.dumps(from_file | asked, default=datetime.isoformat)), options


def run(request: Search, options: SubmitOptions, *, as_json: bool) -> None:
    """Submit a search, follow it, and print its result."""
    timeout = request.deadline + 10
    with Querymill() as mill:
        job: Job[SearchResult] = mill.submit_with(request, options)
        if as_json:
            echo(job.result(timeout=timeout).model_dump_json())
            return
        console = Console()
        screen.follow(console, request.query, job.events(timeout=timeout))
        show(console, job.result(timeout=5))


def show(console: Console, result: SearchResult) -> None:
    """Print the hits with what their scores are made of, then how each branch went."""
    show_hits(console, result, heading=_heading, made_of=_why)
    for branch in result.branches:
        weight = "" if branch.weight is None else f", weight {branch.weight:.3f}"
        went = f"{branch.total} hits{weight}" if branch.reason is None else branch.reason
        console.print(Text(f"  {branch.kind}/{branch.collection}: {went}", "dim"))
    if result.routing is not None:
        console.print(Text(f"  {result.routing}", "dim"))
    screen.show_degraded(console, result.degraded)
    console.print(Text(f"  {result.total} hits in all · {laps(result.timing)}", "dim"))


def _heading(view: HitView) -> Text:
    joint = view.joint
    return Text(view.title) if joint is None else Text(f"{joint.kind}/{joint.collection}  {view.title}")


def _why(hit: JointHit) -> list[str]:
    why = hit.explanation
    return [f"{hit.score:.4f} = {why['weight']:.3f} / ({why['k']:g} + rank {hit.rank} in {hit.kind}/{hit.collection})"]
