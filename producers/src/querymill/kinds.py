"""The kinds that can be searched, and what a room has for each of them, in a module or a folder of its name."""

from importlib.metadata import EntryPoint
from typing import Any, Final, get_args

from querymill_shared.contracts.kinds import KindSearch

#: In the order of help texts and of the demo.
NAMES: Final[tuple[str, ...]] = tuple(search.model_fields["kind"].default for search in get_args(KindSearch))


def part_of(room: str, kind: str, name: str) -> Any:
    """Return what a room has under a name for a kind, such as ``ingesting.kinds``, ``reports`` and ``KIND``."""
    return EntryPoint(kind, f"querymill.{room}.{kind}:{name}", "querymill.kinds").load()
