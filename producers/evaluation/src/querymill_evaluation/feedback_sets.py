"""A set made of what people said of hits: each search is a query, and each judgement a grade of qrels."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_shared.contracts.feedback import KeptJudgement
from querymill_shared.contracts.filters import Retriever

#: The fields of a request that a query of a set keeps beside its history, and what they are called there.
_METADATA: Final[Mapping[Retriever, Mapping[str, str]]] = {
    "reports": {"company": "company", "period": "period"},
    "messages": {"session_id": "session_id", "exclude_message_id": "exclude_message_id"},
    "conversations": {"recent_sessions": "recent_sessions"},
    "modules": {"sub_queries": "query_list"},
    "files": {},
}


@dataclass(slots=True)
class JudgedQuery:
    """A question, and the grade of each id that somebody judged for it."""

    query_id: str
    text: str
    metadata: Mapping[str, Any]
    grades: dict[str, int] = field(default_factory=dict)


def queries_of(kind: Retriever, judgements: Iterable[KeptJudgement]) -> tuple[list[JudgedQuery], int]:
    """Return the judged queries in the order in which they were first judged, and how many judgements name no part.

    Searches with the same question in the same context are one query. Of several judgements of the same part the
    latest counts: the same page judged 1 on Monday and 3 on Tuesday has the grade 3. A message without an id of its own
    cannot be named in a set.
    """
    queries: dict[str, JudgedQuery] = {}
    unnamed = 0
    for judged in sorted(judgements, key=lambda judged: judged.at):
        part = judged_id(kind, judged.document, judged.place)
        if part is None:
            unnamed += 1
            continue
        metadata = _metadata_of(kind, judged.asked)
        if kind == "conversations":
            metadata["created_at"] = judged.asked.get("now") or judged.at.isoformat()
        query_id = query_id_of(kind, judged.asked)
        query = queries.setdefault(query_id, JudgedQuery(query_id, judged.asked["query"], metadata))
        query.grades[part] = judged.relevance
    return list(queries.values()), unnamed


def query_id_of(kind: Retriever, asked: Mapping[str, Any]) -> str:
    """Return the id of the query that a search is: the same for the same question in the same context."""
    known_by = json.dumps([asked["query"], _metadata_of(kind, asked)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(known_by.encode()).hexdigest()[:12]


def _metadata_of(kind: Retriever, asked: Mapping[str, Any]) -> dict[str, Any]:
    named = {**_METADATA[kind], "history": "history"}
    return {new: asked[old] for old, new in named.items() if asked.get(old)}


def judged_id(kind: Retriever, document: str, place: str) -> str | None:
    """Return the id by which a set of a kind names a place of a document, or None if it has none."""
    match kind:
        case "reports":
            return f"{document}/{place}" if place else None
        case "messages":
            return place or None
        case _:
            return document


def query_lines(queries: Iterable[JudgedQuery]) -> list[str]:
    """Return the lines of ``queries.jsonl``."""
    written = ({"_id": query.query_id, "text": query.text, "metadata": query.metadata} for query in queries)
    return [json.dumps(line, ensure_ascii=False) for line in written]


def qrels_lines(queries: Iterable[JudgedQuery]) -> list[str]:
    """Return the lines of ``qrels.tsv``, the header first."""
    graded = [f"{query.query_id}\t{part}\t{grade}" for query in queries for part, grade in sorted(query.grades.items())]
    return ["query-id\tcorpus-id\tscore", *graded]
