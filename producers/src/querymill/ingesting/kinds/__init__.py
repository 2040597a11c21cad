"""How the documents of each kind are ingested: whatever lists kinds is derived from `KINDS`."""

from typing import Final

from querymill.ingesting.kinds import conversations, files, messages, modules, reports
from querymill.ingesting.loadable import Loadable

#: In the order of help texts and of the demo.
KINDS: Final[tuple[Loadable, ...]] = (
    reports.KIND,
    modules.KIND,
    messages.KIND,
    conversations.KIND,
    files.KIND,
)
NAMES: Final = ", ".join(kind.name for kind in KINDS)


def loadable_named(name: str) -> Loadable:
    """Look a kind up.

    Raises:
        ValueError: No kind has this name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ValueError(f"kind: must be one of {NAMES}")
