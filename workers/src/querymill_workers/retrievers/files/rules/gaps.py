"""Gaps: names that the best definitions use and the collection defines, but no retrieved file does."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from querymill_workers.retrievers.files.rules.code import Symbol, lines_of
from querymill_workers.retrievers.files.rules.follow_up_names import is_searchable_name, weighted
from querymill_workers.retrievers.files.rules.intent import Lines

#: A name in more files than these, and than this share of all, is common.
COMMON_FILES, COMMON_SHARE = 5, 1 / 8
#: A name that more files define is no gap: nobody could say which of them is meant.
MAX_DEFINERS: Final = 3
_NAME: Final = re.compile("[A-Za-z_$][A-Za-z0-9_$]*")


def used_in(content: str, spans: Iterable[Lines], symbols: Sequence[Symbol]) -> list[str]:
    """List the names that some lines of a file use and the file does not define, in order, each once."""
    own = {symbol.name for symbol in symbols if symbol.role == "definition"}
    used = {symbol.name for symbol in symbols if symbol.role != "definition" and is_searchable_name(symbol.name)} - own
    lines = lines_of(content)
    found = (name[0] for first, last in spans for line in lines[first - 1 : last] for name in _NAME.finditer(line))
    return list(dict.fromkeys(name for name in found if name in used))


def gaps(
    uses: Mapping[str, Iterable[str]],
    *,
    retrieved: Collection[str],
    definers: Mapping[str, Collection[str]],
    frequency: Mapping[str, int],
    files: int,
) -> dict[str, float]:
    """Return the names that high files use and no retrieved file defines, with their weight: the rarer, the more.

    *Decided*: a name that more than one file in eight has (at least 5), or that more than 3 files define, is a
    utility of the code base and no gap.

    *Decided*: a name that no file of the collection defines (it belongs to a library or the language) is not a gap,
    because no round could close it.

    Args:
        uses: For each high file the names that its best definitions use.
        retrieved: Paths of all files evaluated so far, in any band: their contents have been read.
        definers: For each name the files of the collection that define it.
        frequency: For each name the number of files that have it in any role.
        files: Number of files in the collection.
    """
    known = set(retrieved)
    open_names = {
        name
        for names in uses.values()
        for name in names
        if is_searchable_name(name)
        and (by := definers.get(name))
        and len(by) <= MAX_DEFINERS
        and known.isdisjoint(by)
        and frequency.get(name, 0) <= max(COMMON_FILES, files * COMMON_SHARE)
    }
    wanted = {path: open_names.intersection(names) for path, names in uses.items()}
    return weighted(wanted, frequency={name: frequency.get(name, 0) for name in open_names}, files=files)
