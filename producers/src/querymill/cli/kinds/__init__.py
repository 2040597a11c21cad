"""The retrievers as the command line knows them: whatever lists kinds is derived from `KINDS`."""

from typing import Any, Final

from querymill import kinds
from querymill.cli.exits import WrongUse
from querymill.cli.kind import Kind

#: What can be searched is a command: each kind has a folder here.
KINDS: Final[tuple[Kind[Any], ...]] = tuple(kinds.part_of("cli.kinds", name, "KIND") for name in kinds.NAMES)


def kind_named(name: str) -> Kind[Any]:
    """Look a kind up.

    Raises:
        WrongUse: No kind has this name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise WrongUse(f"kind: {name!r} is not one of: {', '.join(kinds.NAMES)}")
