"""Evaluation sets as the `messages` kind sees them: what a query is filtered by is a session of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querymill.evaluation.sets import BadSet, SetQuery, lines_of, lot, qrels_of
from querymill_shared.contracts.sessions import ChatSession

#: Fields of the metadata that a set's queries may be filtered by, the widest first.
_UNITS = ("conversation_id", "session_id")


@dataclass(frozen=True, slots=True)
class MessageSet:
    """Sessions, and the queries that are asked of them; a message's id is the judged one."""

    name: str
    sessions: tuple[ChatSession, ...]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]


def read_message_set(
    folder: Path, *, most_queries: int | None = None, most_sessions: int | None = None, queries: str = "queries"
) -> MessageSet:
    """Read a set; ``most_sessions`` keeps the first so many, and the queries asked of them.

    ``queries`` names the file of queries: those of another than "queries" need no judgements.

    Raises:
        BadSet: A file is missing or not of the format.
    """
    try:
        qrels = qrels_of(folder / "qrels.tsv")
        asked = [
            SetQuery(line["_id"], line["text"], line.get("metadata") or {})
            for line in lines_of(folder, queries)
            if queries != "queries" or line["_id"] in qrels
        ]
        units: dict[str, list[dict[str, Any]]] = {}
        for line in lines_of(folder, "corpus"):
            units.setdefault(unit_of(line["metadata"]), []).append(line)
        sessions = [_session(name, lines) for name, lines in list(units.items())[:most_sessions]]
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    known = {session.session_id for session in sessions}
    kept = [query for query in asked if unit_of(query.metadata) in known]
    chosen = kept if most_queries is None else sorted(kept, key=lambda query: lot(query.query_id))[:most_queries]
    return MessageSet(folder.name, tuple(sessions), tuple(chosen), qrels)


def unit_of(metadata: Mapping[str, Any]) -> str:
    """Name the session of ours that a message or a query belongs to."""
    return str(next(metadata[name] for name in _UNITS if name in metadata))


def message_fields(query: SetQuery) -> dict[str, Any]:
    """Say what a query is filtered by, as its set means to be run."""
    excluded = query.metadata.get("exclude_message_id")
    return {"session_id": unit_of(query.metadata)} | ({"exclude_message_id": excluded} if excluded is not None else {})


def _session(name: str, lines: list[dict[str, Any]]) -> ChatSession:
    return ChatSession.model_validate({
        "session_id": name,
        "started_at": lines[0]["metadata"]["created_at"],
        "messages": [
            {
                "message_id": line["_id"],
                "role": line["metadata"].get("message_role"),
                "text": line["text"],
                "created_at": line["metadata"]["created_at"],
                "user_name": line["metadata"].get("user_name"),
            }
            for line in lines
        ],
    })  # fmt: skip
