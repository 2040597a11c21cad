"""``--label name=value``: what the jobs of a command are labelled with, and found again by."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Annotated, Final

import typer

from querymill.cli.exits import WrongUse
from querymill.client.mill import Querymill
from querymill_shared.contracts.submit_options import LABELS

#: An option of the commands that submit jobs, and of the one that lists them.
LabelOption = Annotated[
    list[str] | None, typer.Option("--label", help="name=value, as session=42; may be repeated: labels of the jobs")
]

#: The labels of the command that runs: an ingestion connects in another place for each source.
_given: Final[ContextVar[Mapping[str, str]]] = ContextVar("labels")


def give_labels(given: Sequence[str] | None) -> None:
    """Have the jobs of this command labelled. Raises as `read_labels`."""
    _given.set(read_labels(given))


def labelled_mill() -> Querymill:
    """Return a client that gives the labels of this command to its jobs."""
    mill = Querymill()
    labels = _given.get({})
    return mill.labelled(labels) if labels else mill


def read_labels(given: Sequence[str] | None) -> dict[str, str]:
    """Read labels that are written as name=value.

    Raises:
        WrongUse: One is not.
        pydantic.ValidationError: One breaks a rule.
    """
    parted = [each.partition("=") for each in given or ()]
    if not all(sign for _, sign, _ in parted):
        raise WrongUse("--label: must be a name and a value, as session=42")
    return LABELS.validate_python({name: value for name, _, value in parted})
