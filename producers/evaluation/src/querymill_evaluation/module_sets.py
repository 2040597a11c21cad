"""Evaluation sets for `modules`: code documents, and queries with or without weighted parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querymill_evaluation.sets import BadSet, SetQuery, at_line, read_judged, read_lines, sample
from querymill_shared.contracts.modules.ingest import ModuleDocument


@dataclass(frozen=True, slots=True)
class ModuleSet:
    """A set of code documents. ``corpus_ids`` maps the id of a document to its judged id."""

    name: str
    documents: tuple[ModuleDocument, ...]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]
    corpus_ids: Mapping[int | str, str]


def read_module_set(folder: Path, *, max_queries: int | None = None) -> ModuleSet:
    """Read a set whose corpus lines are code documents, or have them as metadata.

    Raises:
        BadSet: A file is missing or malformed.
    """
    try:
        qrels, queries = read_judged(folder)
        documents: list[ModuleDocument] = []
        ids: dict[int | str, str] = {}
        for number, line in read_lines(folder, "corpus"):
            with at_line(folder, "corpus", number):
                documents.append(ModuleDocument.model_validate(line.get("metadata") or line))
            document = documents[-1].document
            ids[document] = str(line.get("_id", document))
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    return ModuleSet(folder.name, tuple(documents), sample(queries, max_queries), qrels, ids)


def module_request(query: SetQuery, collection: str) -> dict[str, Any]:
    """Return the request for a query, with its weighted parts if it has any."""
    parts = query.metadata.get("query_list")
    asked: dict[str, Any] = {"kind": "modules", "collection": collection, "query": query.text, "prompt_tokens": 0}
    return asked | ({"sub_queries": parts} if parts else {})
