"""Evaluation sets as the `files` kind sees them: the files of one or more code bases, each a collection of its own."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from querymill.evaluation.sets import BadSet, SetQuery, read_parts, sampled
from querymill_shared.contracts.ingest_files import SourceFile

_NOT_IN_A_NAME: Final = re.compile("[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class FileSet:
    """A set of code bases: files by collection; ``corpus_ids`` maps (collection, path) to the judged id."""

    name: str
    files: Mapping[str, tuple[SourceFile, ...]]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]
    corpus_ids: Mapping[tuple[str, str], str]

    def collection(self, query: SetQuery) -> str:
        """Name the collection that a query is asked of: its repository."""
        return _collection(self.name, query.metadata)


def read_file_set(folder: Path, *, most_queries: int | None = None) -> FileSet:
    """Read a set whose corpus lines are files; their metadata name the repository and the path.

    Raises:
        BadSet: A file is missing or not of the format.
    """
    try:
        qrels, queries, corpus = read_parts(folder)
        files: dict[str, dict[str, SourceFile]] = {}
        ids: dict[tuple[str, str], str] = {}
        for line in corpus:
            metadata = line.get("metadata") or {}
            collection = _collection(folder.name, metadata)
            path = str(metadata.get("path") or line["title"])
            files.setdefault(collection, {})[path] = SourceFile(path=path, content=line["text"])
            ids[collection, path] = str(line["_id"])
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    return FileSet(
        folder.name,
        {name: tuple(found.values()) for name, found in files.items()},
        sampled(queries, most_queries),
        qrels,
        ids,
    )


def batches(files: tuple[SourceFile, ...], *, most: int = 32, characters: int = 300_000) -> Iterator[list[SourceFile]]:
    """Cut files into what one job takes in."""
    held: list[SourceFile] = []
    for file in files:
        if held and (len(held) == most or sum(len(one.content) for one in held) + len(file.content) > characters):
            yield held
            held = []
        held.append(file)
    if held:
        yield held


def _collection(name: str, metadata: Mapping[str, Any]) -> str:
    repository = _NOT_IN_A_NAME.sub("-", str(metadata.get("repo") or "")).strip("-")
    return f"{name}-{repository}"[:64].rstrip("-") if repository else name
