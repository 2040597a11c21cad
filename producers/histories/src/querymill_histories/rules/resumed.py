"""Sessions that were resumed: the tool continues them in a new file, with a new id."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from querymill_histories.session import HistoryMessage, Session


def joined(
    sessions: Sequence[Session], nodes: Mapping[str, frozenset[str]], links: Mapping[str, Sequence[str]]
) -> Iterator[Session]:
    """Yield sessions; those that one resumed are one session, under the id of the first.

    A session continues another if it repeats all its messages, with their times, or if it begins with a link to the
    other's last messages. Two that were resumed from one place stay two.

    Args:
        sessions: Of one folder.
        nodes: The ids of the lines of each session.
        links: The ids that its lines name as their parents.
    """
    open_ = sorted(
        (session for session in sessions if session.entries), key=lambda one: (_started(one), len(one.entries))
    )
    while open_:
        first = open_.pop(0)
        while (later := _continuation(first, open_, nodes, links)) is not None:
            open_.remove(later)
            first = _together(first, later)
        yield first


def _started(session: Session) -> float:
    return session.started_at.timestamp() if session.started_at else 0.0


def _keys(session: Session) -> set[tuple[object, ...]]:
    return {(entry.role, entry.at, entry.text) for entry in session.entries if isinstance(entry, HistoryMessage)}


def _continuation(
    first: Session,
    others: Sequence[Session],
    nodes: Mapping[str, frozenset[str]],
    links: Mapping[str, Sequence[str]],
) -> Session | None:
    """Return the session that resumes where this one ends."""
    keys = _keys(first)
    for other in others:
        if keys and keys <= _keys(other):
            return other
        foreign = [link for link in links.get(other.id, ()) if link not in nodes[other.id]]
        if foreign and all(link in nodes[first.id] for link in foreign) and not keys & _keys(other):
            return other
    return None


def _together(first: Session, later: Session) -> Session:
    repeats = _keys(first) <= _keys(later)
    return replace(
        later,
        id=first.id,
        source=later.source,
        entries=later.entries if repeats else [*first.entries_for(later.source), *later.entries],
        name=later.name or first.name,
        started_at=first.started_at or later.started_at,
        about=first.about | later.about,
        others=(*first.files, *later.files),
        left_out=first.left_out | later.left_out,
    )
