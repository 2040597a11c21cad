"""The schema of this release: the ``schema.sql`` of every room, and the migrations since the baseline."""

from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from querymill_shared.values import value

#: The rooms whose schema the others use, in this order. The rest do not depend on each other.
_FIRST: Final = ("postgres", "documents")


@value
class Migration:
    """One numbered change of the schema."""

    number: int
    name: str
    text: str


#: What every database begins with: the schema of the release that made it, which holds the migrations until then.
BASELINE: Final = Migration(1, "0001_baseline", "")


def schema() -> str:
    """Return the statements of every room's ``schema.sql``. ``{schema}`` stands for the schema that they are run in."""
    rooms = dict(_schemas(resources.files("querymill_workers"), ""))
    order = sorted(rooms, key=lambda room: (_FIRST.index(room) if room in _FIRST else len(_FIRST), room))
    return "\n".join(rooms[room] for room in order)


def migrations() -> Sequence[Migration]:
    """Return the baseline, and the migrations since, in the order of their numbers."""
    folder = resources.files("querymill_workers.postgres") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [BASELINE, *(Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8")) for file in files)]


def _schemas(folder: Traversable, room: str) -> Iterator[tuple[str, str]]:
    """Yield the schemas in a folder and below, each with the name of its room."""
    for entry in folder.iterdir():
        if entry.name == "schema.sql":
            yield room, entry.read_text(encoding="utf-8")
        elif entry.is_dir():
            yield from _schemas(entry, f"{room}/{entry.name}".lstrip("/"))
