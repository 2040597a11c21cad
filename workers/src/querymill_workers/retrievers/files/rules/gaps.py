"""Gaps: what the high files use, the collection defines, and nothing retrieved defines."""

from collections.abc import Collection, Iterable, Mapping

from querymill_workers.retrievers.files.rules.follow_up_names import is_searchable_name, weighted


def gaps(
    uses: Mapping[str, Iterable[str]],
    *,
    retrieved: Collection[str],
    definers: Mapping[str, Collection[str]],
    files: int,
) -> dict[str, float]:
    """Find the names that high files use and no retrieved file defines, with their weight.

    *Decided*: a name that the collection defines nowhere (a library's, the language's) is no gap, because no round
    could close it.

    Args:
        uses: For each high file the names that it imports, calls or mentions as a type.
        retrieved: Paths of all files evaluated so far, whatever their band: they were read, so they are known.
        definers: For each name the files of the collection that define it.
        files: How many files the collection has; a name that few files define weighs more.
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
