"""Why something is not among the hits, in sentences. Pure."""

import json
from collections.abc import Sequence

from querymill_shared.contracts.why_not import Absence, Lever


def say_absence(absence: Absence) -> Sequence[str]:
    """Return the sentences: the gate that it did not pass with its numbers, and the lever if there is one."""
    failed = absence.failed
    if failed is None:
        return (f"{absence.id} is a hit (at place {absence.place})",)
    said = f"{absence.id} was lost at: {failed.name} ({failed.said})"
    return (said,) if absence.lever is None else (said, say_lever(absence.lever))


def say_lever(lever: Lever) -> str:
    """Say what would bring it in: "candidates=14 brings it in, to place 9"."""
    fields = " and ".join(f"{name}={written(value)}" for name, value in lever.fields.items())
    verb = "bring" if len(lever.fields) > 1 else "brings"
    return f"{fields} {verb} it {'past this gate' if lever.place is None else f'in, to place {lever.place}'}"


def written(value: object) -> str:
    """Write the value of a field. Of a long list only its length is said."""
    if isinstance(value, list | tuple) and len(value) > 3:
        return f"[{value[0]}, … {len(value)} in all]"
    return json.dumps(value, ensure_ascii=False)
