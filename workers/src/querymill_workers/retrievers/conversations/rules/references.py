"""References between sessions: a later session takes up an earlier one.

A reference is implicit if the later session has more than 60 % of the earlier one's key phrases, and at least 3. It is
explicit if the later session says so ("last time"): it then means the earlier session with the highest overlap, of at
least 20 % and at least 2 phrases. Decided: overlap is shared / key phrases of the **earlier** session. Sessions that
began at the same moment do not refer to each other.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

Kind = Literal["explicit", "implicit"]

#: The weights of references. A session counts at most once for another, with the explicit weight if it has one.
EXPLICIT, IMPLICIT = 1.0, 0.5
#: Minimum numbers of shared phrases.
MIN_IMPLICIT, MIN_EXPLICIT = 3, 2


@value
class Reference:
    """An edge of the graph. ``source`` has ``shared`` of the ``size`` key phrases of the earlier ``target``."""

    source: str
    target: str
    kind: Kind
    shared: int
    size: int

    @property
    def overlap(self) -> float:
        """The share of the earlier session's key phrases that the later one has."""
        return self.shared / self.size


@value
class Near:
    """A session that shares ``shared`` key phrases with another; ``size`` counts its own."""

    session_id: str
    started_at: datetime
    size: int
    explicit: bool
    shared: int


def is_implicit(shared: int, size: int) -> bool:
    """Whether more than 60 % of ``size`` phrases are shared, and at least 3. Exactly 60 % is not enough."""
    return shared >= MIN_IMPLICIT and 5 * shared > 3 * size


def may_be_explicit(shared: int, size: int) -> bool:
    """Whether at least 20 % of ``size`` phrases are shared, and at least 2."""
    return shared >= MIN_EXPLICIT and 5 * shared >= size


def needed(size: int) -> int:
    """Return how many of ``size`` phrases an implicit reference must share."""
    return max(MIN_IMPLICIT, 3 * size // 5 + 1)


def leading(size: int) -> int:
    """Return how many of a session's phrases a search must look at to see 3 of those that a reference shares.

    At least ``needed`` of ``size`` phrases are shared. If any ``needed - 3`` are left out, 3 shared ones remain.
    """
    return max(size - needed(size) + MIN_IMPLICIT, 0)


def is_better(reference: Reference, other: Reference | None) -> bool:
    """Whether an explicit reference means this target rather than the other's: by overlap, ties by the target's id."""
    if other is None:
        return True
    mine, its = reference.shared * other.size, other.shared * reference.size
    return mine > its or (mine == its and reference.target < other.target)


def implicit_references(session: SessionFacts, near: Iterable[Near]) -> list[Reference]:
    """List the implicit references from a session and to it."""
    found = []
    size = len(session.key_phrases)
    for other in near:
        if other.started_at < session.started_at and is_implicit(other.shared, other.size):
            found.append(Reference(session.session_id, other.session_id, "implicit", other.shared, other.size))
        if other.started_at > session.started_at and is_implicit(other.shared, size):
            found.append(Reference(other.session_id, session.session_id, "implicit", other.shared, size))
    return found


def explicit_reference(session: SessionFacts, near: Iterable[Near]) -> Reference | None:
    """Return the reference that an explicit phrase makes, or None if there is no such phrase or no such session."""
    best = None
    for other in near if session.explicit else ():
        if other.started_at < session.started_at and may_be_explicit(other.shared, other.size):
            candidate = Reference(session.session_id, other.session_id, "explicit", other.shared, other.size)
            best = candidate if is_better(candidate, best) else best
    return best


def explicit_candidates(session: SessionFacts, near: Iterable[Near]) -> list[Reference]:
    """List the explicit references that later sessions make to this one, unless they have a better target."""
    size = len(session.key_phrases)
    return [
        Reference(other.session_id, session.session_id, "explicit", other.shared, size)
        for other in near
        if other.explicit and other.started_at > session.started_at and may_be_explicit(other.shared, size)
    ]


def counted(references: Iterable[Reference]) -> float:
    """Return the weighted count of the references to one session: 1 for each explicit source, ½ for an implicit one."""
    weights: dict[str, float] = {}
    for reference in references:
        weight = EXPLICIT if reference.kind == "explicit" else IMPLICIT
        weights[reference.source] = max(weights.get(reference.source, 0.0), weight)
    return sum(weights.values())
