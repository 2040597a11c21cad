"""The retrievers as the command line knows them: whatever lists kinds is derived from `KINDS`."""

from importlib.metadata import EntryPoint
from typing import Any, Final

from querymill.cli.exits import WrongUse
from querymill.cli.kind import Kind
from querymill.ingesting import kinds

#: What can be ingested can be searched: each kind has a folder here.
KINDS: Final[tuple[Kind[Any], ...]] = tuple(
    EntryPoint(kind.name, f"{__name__}.{kind.name}:KIND", "querymill.kinds").load() for kind in kinds.KINDS
)


def kind_named(name: str) -> Kind[Any]:
    """Look a kind up.

    Raises:
        WrongUse: No kind has this name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise WrongUse(f"kind: {name!r} is not one of: {kinds.NAMES}")
