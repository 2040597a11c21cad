"""Where a request searches."""

from collections.abc import Sequence

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.values import value
from querymill_workers.retrievers.files.ports import KIND, FilePorts
from querymill_workers.retrievers.files.rules.kinds import FILE_KINDS, kind_of


@value
class FileScope:
    """The collection that a request searches, and the paths of the files that it may search; None for all."""

    collection: str
    paths: Sequence[str] | None


def find_scope(request: FileSearch, ports: FilePorts) -> FileScope:
    """Find the files that a request may search.

    These pass its filter, lie under one of its folders, match no pattern that it excludes, and are of its kinds.
    """
    collection = request.collection
    if not (request.filter or request.under or request.exclude or request.kinds):
        return FileScope(collection, None)
    paths = ports.documents[KIND].ids(collection, request.filter)

    def matching(patterns: Sequence[str]) -> set[str]:
        return {
            path
            for pattern in patterns
            for path in ports.files.glob(collection, pattern, limit=len(paths), paths=paths)
        }

    kept = matching([f"/{folder.strip('/')}" for folder in request.under]) if request.under else set(paths)
    left = kept - matching(request.exclude)
    if not request.kinds:
        return FileScope(collection, sorted(left))
    stated = {path: kind for kind in FILE_KINDS for path in ports.documents[KIND].ids(collection, {"kind": kind})}
    return FileScope(
        collection, sorted(path for path in left if kind_of(path, stated=stated.get(path)) in request.kinds)
    )
