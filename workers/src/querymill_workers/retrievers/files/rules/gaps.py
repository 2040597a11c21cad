"""Gaps: names that the high files use and the collection defines, but no retrieved file does."""

from collections.abc import Collection, Iterable, Mapping

from querymill_workers.retrievers.files.rules.follow_up_names import is_searchable_name, weighted


def gaps(
    uses: Mapping[str, Iterable[str]],
    *,
    retrieved: Collection[str],
    definers: Mapping[str, Collection[str]],
    files: int,
) -> dict[str, float]:
    """Return the names that high files use and no retrieved file defines, with their weight.

    *Decided*: a name that no file of the collection defines (it belongs to a library or the language) is not a gap,
    because no round could close it.

    Args:
        uses: For each high file the names that it imports, calls or uses as a type.
        retrieved: Paths of all files evaluated so far, in any band: their contents have been read.
        definers: For each name the files of the collection that define it.
        files: Number of files in the collection; names that few files define weigh more.
    """
    known = set(retrieved)
    open_names = {
        name
        for names in uses.values()
        for name in names
        if is_searchable_name(name) and (by := definers.get(name)) and known.isdisjoint(by)
    }
    wanted = {path: open_names.intersection(names) for path, names in uses.items()}
    return weighted(wanted, frequency={name: len(definers[name]) for name in open_names}, files=files)
