"""Evaluation sets for `files`: the files of one or more code bases, each in a collection of its own."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from querymill_evaluation.sets import BadSet, SetQuery, at_line, read_judged, read_lines, sample
from querymill_shared.contracts.files.ingest import SourceFile

_NOT_IN_A_NAME: Final = re.compile("[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files by collection, and the queries. ``corpus_ids`` maps (collection, path) to the judged id."""

    name: str
    files: Mapping[str, tuple[SourceFile, ...]]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]
    corpus_ids: Mapping[tuple[str, str], str]

    def collection(self, query: SetQuery) -> str:
        """Name the collection of the repository that a query is about."""
        return _collection(self.name, query.metadata)


def read_file_set(folder: Path, *, max_queries: int | None = None) -> FileSet:
    """Read a set whose corpus lines are files, in our format or BEIR's. Metadata name the repository and the path.

    A file without a path gets its title as path, or its id if it has no title or another file has the same.

    Raises:
        BadSet: A file is missing or malformed.
    """
    try:
        qrels, queries = read_judged(folder)
        files: dict[str, list[SourceFile]] = {}
        ids: dict[tuple[str, str], str] = {}
        paths = defaultdict[str, set[str]](set)
        for number, line in read_lines(folder, "corpus"):
            with at_line(folder, "corpus", number):
                collection = _collection(folder.name, line if "path" in line else line.get("metadata") or {})
                file = _file(line, paths[collection])
            if file.path in paths[collection]:
                raise BadSet(f"{folder}: corpus, line {number}: path: a line before it has the same")
            files.setdefault(collection, []).append(file)
            paths[collection].add(file.path)
            ids[collection, file.path] = str(line.get("_id", file.path))
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    return FileSet(
        folder.name,
        {name: tuple(found) for name, found in files.items()},
        sample(queries, max_queries),
        qrels,
        ids,
    )


def _file(line: Mapping[str, Any], taken: Collection[str]) -> SourceFile:
    if "path" in line:
        return SourceFile(path=line["path"], content=line["content"])
    names = ((line.get("metadata") or {}).get("path"), line.get("title"), line["_id"])
    free = (str(name) for name in names if name and str(name) not in taken)
    return SourceFile(path=next(free, str(line["_id"])), content=line["text"])


def _collection(name: str, metadata: Mapping[str, Any]) -> str:
    repository = _NOT_IN_A_NAME.sub("-", str(metadata.get("repo") or "")).strip("-")
    return f"{name}-{repository}"[:64].rstrip("-") if repository else name
