"""Sessions that stand in several files: copies of one, or its parts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from querymill_histories.session import HistoryMessage, Session, ToolCall


def one_each(sessions: Iterable[Session]) -> list[Session]:
    """Return one session for each id: what a later file adds follows what an earlier one has.

    ``[question, answer]`` and ``[question, answer, thanks]`` under one id are ``[question, answer, thanks]``.
    """
    found: dict[str, Session] = {}
    for session in sessions:
        known = found.get(session.id)
        found[session.id] = session if known is None else _with(known, session)
    return list(found.values())


def _key(entry: HistoryMessage | ToolCall) -> tuple[object, ...]:
    if isinstance(entry, HistoryMessage):
        return (entry.role, entry.text, entry.at, entry.id)
    return (entry.name, entry.id, entry.at)


def _with(known: Session, other: Session) -> Session:
    first, later = sorted((known, other), key=lambda one: one.started_at.timestamp() if one.started_at else 0.0)
    left = Counter(map(_key, first.entries))
    added = []
    for entry in later.entries:
        if left[_key(entry)] > 0:
            left[_key(entry)] -= 1
        else:
            added.append(entry)
    longer = later if len(later.entries) > len(first.entries) else first
    return replace(
        longer,
        entries=[*first.entries_for(longer.source), *replace(later, entries=added).entries_for(longer.source)],
        name=later.name or first.name,
        started_at=first.started_at or later.started_at,
        about=first.about | later.about,
        others=(*first.files, *later.files),
        left_out=first.left_out | later.left_out,
    )
