"""A set made of what people said of hits: each search is a query, and each judgement a grade of qrels."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_shared.contracts.feedback import KeptJudgement
from querymill_shared.contracts.filters import Retriever

#: The fields of a request that a query of a set keeps, and what they are called there.
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
        part = judged_id(kind, judged)
        if part is None:
            unnamed += 1
            continue
        metadata = {new: judged.asked[old] for old, new in _METADATA[kind].items() if judged.asked.get(old)}
        if kind == "conversations":
            metadata["created_at"] = judged.asked.get("now") or judged.at.isoformat()
        known_by = {name: value for name, value in metadata.items() if name != "created_at"}
        asked = json.dumps([judged.asked["query"], known_by], sort_keys=True, ensure_ascii=False)
        query_id = hashlib.sha256(asked.encode()).hexdigest()[:12]
        query = queries.setdefault(query_id, JudgedQuery(query_id, judged.asked["query"], metadata))
        query.grades[part] = judged.relevance
    return list(queries.values()), unnamed


def judged_id(kind: Retriever, judged: KeptJudgement) -> str | None:
    """Return the id by which a set of a kind names what was judged, or None if it has none."""
    match kind:
        case "reports":
            return f"{judged.document}/{judged.place}" if judged.place else None
        case "messages":
            return judged.place or None
        case _:
            return judged.document


def query_lines(queries: Iterable[JudgedQuery]) -> list[str]:
    """Return the lines of ``queries.jsonl``."""
    written = ({"_id": query.query_id, "text": query.text, "metadata": query.metadata} for query in queries)
    return [json.dumps(line, ensure_ascii=False) for line in written]


def qrels_lines(queries: Iterable[JudgedQuery]) -> list[str]:
    """Return the lines of ``qrels.tsv``, the header first."""
    graded = [f"{query.query_id}\t{part}\t{grade}" for query in queries for part, grade in sorted(query.grades.items())]
    return ["query-id\tcorpus-id\tscore", *graded]
