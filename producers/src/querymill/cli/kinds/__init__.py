"""The retrievers as the command line knows them: whatever lists kinds is derived from `KINDS`."""

from typing import Any, Final

from querymill.cli.exits import WrongUse
from querymill.cli.kind import Kind
from querymill.cli.kinds import conversations, files, messages, modules, reports

#: In the order of help texts and of the demo.
KINDS: Final[tuple[Kind[Any], ...]] = (
    reports.KIND,
    modules.KIND,
    messages.KIND,
    conversations.KIND,
    files.KIND,
)
NAMES: Final = ", ".join(kind.name for kind in KINDS)


def kind_named(name: str) -> Kind[Any]:
    """Look a kind up.

    Raises:
        WrongUse: No kind has this name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise WrongUse(f"kind: {name!r} is not one of: {NAMES}")
