"""How the documents of each kind are ingested: whatever lists kinds is derived from `KINDS`."""

from typing import Final

from querymill import kinds
from querymill.ingesting.loadable import Loadable

#: What can be searched can be ingested: each kind has a module here.
KINDS: Final[tuple[Loadable, ...]] = tuple(kinds.part_of("ingesting.kinds", name, "KIND") for name in kinds.NAMES)
NAMES: Final = ", ".join(kinds.NAMES)


def loadable_named(name: str) -> Loadable:
    """Look a kind up.

    Raises:
        ValueError: No kind has this name.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ValueError(f"kind: must be one of {NAMES}")
