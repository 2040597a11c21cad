"""Which files a request may search."""

from collections.abc import Sequence

from querymill_shared.contracts.files.search import FileSearch
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.kinds import FILE_KINDS, kind_of


def passing(request: FileSearch, ports: FilePorts) -> Sequence[str] | None:
    """Return the paths of the files that a request may search, or None for all.

    These pass its filter, lie under one of its folders, match no pattern that it excludes, and are of its kinds.
    """
    if not (request.filter or request.under or request.exclude or request.kinds):
        return None
    paths = ports.files.passing(request.collection, request.filter)

    def matching(patterns: Sequence[str]) -> set[str]:
        return {
            path
            for pattern in patterns
            for path in ports.files.glob(request.collection, pattern, limit=len(paths), paths=paths)
        }

    kept = matching([f"/{folder.strip('/')}" for folder in request.under]) if request.under else set(paths)
    left = kept - matching(request.exclude)
    if not request.kinds:
        return sorted(left)
    stated = {path: kind for kind in FILE_KINDS for path in ports.files.passing(request.collection, {"kind": kind})}
    return sorted(path for path in left if kind_of(path, stated=stated.get(path)) in request.kinds)
