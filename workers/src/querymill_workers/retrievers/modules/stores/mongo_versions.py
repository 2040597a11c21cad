"""The versions of a record of MongoDB: the newest, and beside it the one before until the newest counts.

Every change names the version that was read (its ``record``), so a writer that stood still cannot undo what another
one has written since.
"""

from collections.abc import Sequence
from typing import Any, Final

from pymongo import DeleteOne, UpdateOne

from querymill_workers.retrievers.modules.rules.names import reversal
from querymill_workers.retrievers.modules.stores.mongo_rows import Row

#: What a row has once, whichever versions it holds.
_OF_THE_ROW: Final = frozenset({"_id", "collection", "document", "posted", "stale", "former", "unsettled"})


def version_of(row: Row, record: str | None) -> Row | None:
    """Return what a row holds under the name of a record: its newest version, or the one before; None if neither is."""
    if record is None:
        return None
    for version in (row, row.get("former")):
        is_whole = version and ("revision" in version or "json" in version)
        if version and is_whole and version.get("record") == record:
            return version
    return None


def is_unsettled(row: Row) -> bool:
    """Whether a writer has not cleared up after it changed the row."""
    return bool(row.get("unsettled"))


def replacing(row: Row | None, new: Row, counts: str | None) -> UpdateOne:
    """Write a new version, and keep the one that counts beside it until the new one counts.

    If another writer was first, the operation tries to add a second row, which the server refuses.
    """
    kept = version_of(row, counts) if row else None
    former = kept and {name: value for name, value in kept.items() if name not in _OF_THE_ROW}
    posted = {"posted": sorted({*(row or {}).get("posted", ()), *new["posted"]})} if "posted" in new else {}
    change = {"$set": new | posted | {"former": former, "unsettled": True}}
    return UpdateOne({"_id": new["_id"], "record": (row or {}).get("record")}, change, upsert=True)


def stale_of(row: Row) -> set[str]:
    """Return the names under which a row may be posted, but not by its newest version."""
    return posted_of(row) - set(_own_names(row))


def posted_of(row: Row) -> set[str]:
    """Return the names under which a row may be posted."""
    return {*row.get("posted", ()), *row.get("stale", ())}


def trimming(row: Row, *, nothing: bool = False) -> UpdateOne:
    """Note which postings to remove, and announce those of the newest version alone, or ``nothing``."""
    own = [] if nothing else _own_names(row)
    stale = sorted(posted_of(row) - set(own))
    return UpdateOne(_as_read(row), {"$set": {"posted": own, "stale": stale, "unsettled": True}})


def settling(row: Row) -> UpdateOne:
    """Drop the version before the newest, and say that nothing is left to clear up."""
    over = {"$unset": {"former": "", "unsettled": "", "stale": ""}}
    return UpdateOne(_as_read(row), over | ({"$set": {"posted": _own_names(row)}} if "names" in row else {}))


def restoring(row: Row, former: Row) -> UpdateOne:
    """Put the version before the newest in its place again."""
    gone = dict.fromkeys([*(row.keys() - former.keys() - _OF_THE_ROW), "former"], "")
    return UpdateOne(_as_read(row), {"$unset": gone, "$set": former})


def dropping(row: Row) -> DeleteOne:
    """Drop a row."""
    return DeleteOne(_as_read(row))


def _own_names(row: Row) -> list[str]:
    names: Sequence[str] = row.get("names", ())
    return sorted({reversal(name) for name in names})


def _as_read(row: Row) -> dict[str, Any]:
    return {"_id": row["_id"], "record": row["record"]}
