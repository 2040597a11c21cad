"""References between sessions: a later one speaks of an earlier one.

Implicit: more than 60 % of the earlier one's key phrases come back in it, at least 3. Explicit: it says so ("last
time"), and of all earlier sessions this one's phrases come back most, at least 20 % of them and at least 2.
Decided: overlap is shared / key phrases of the **earlier** session; sessions that began at the same moment do not
refer to each other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

Kind = Literal["explicit", "implicit"]

#: What a reference counts; one session counts at most once for another, explicit before implicit.
EXPLICIT, IMPLICIT = 1.0, 0.5
#: Phrases that must be shared at least.
MIN_IMPLICIT, MIN_EXPLICIT = 3, 2


@dataclass(frozen=True, slots=True)
class Reference:
    """An edge of the graph: ``source`` has ``shared`` of the ``size`` key phrases of the earlier ``target``."""

    source: str
    target: str
    kind: Kind
    shared: int
    size: int

    @property
    def overlap(self) -> float:
        """What is shared, of the key phrases of the earlier session."""
        return self.shared / self.size


@dataclass(frozen=True, slots=True)
class Near:
    """A session that shares key phrases with another; ``size`` counts its own."""

    session_id: str
    started_at: datetime
    size: int
    explicit: bool
    shared: int


def is_implicit(shared: int, size: int) -> bool:
    """Whether more than 60 % of ``size`` phrases are shared, and at least 3; in whole numbers, so that 60 % is not."""
    return shared >= MIN_IMPLICIT and 5 * shared > 3 * size


def may_be_explicit(shared: int, size: int) -> bool:
    """Whether at least 20 % of ``size`` phrases are shared, and at least 2."""
    return shared >= MIN_EXPLICIT and 5 * shared >= size


def needed(size: int) -> int:
    """How many of ``size`` phrases an implicit reference shares at least."""
    return max(MIN_IMPLICIT, 3 * size // 5 + 1)


def leading(size: int) -> int:
    """How many of a session's phrases must be looked at: any so many hold 3 of those that a reference shares.

    Of ``size`` phrases at least ``needed`` are shared; leave ``needed - 3`` out, whichever, and 3 are still there.
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
    """Find the earlier session that an explicit phrase means; None when it has no such phrase, or means none."""
    best = None
    for other in near if session.explicit else ():
        if other.started_at < session.started_at and may_be_explicit(other.shared, other.size):
            candidate = Reference(session.session_id, other.session_id, "explicit", other.shared, other.size)
            best = candidate if is_better(candidate, best) else best
    return best


def explicit_candidates(session: SessionFacts, near: Iterable[Near]) -> list[Reference]:
    """List the explicit references that later sessions would make to this one, were there no better one."""
    size = len(session.key_phrases)
    return [
        Reference(other.session_id, session.session_id, "explicit", other.shared, size)
        for other in near
        if other.explicit and other.started_at > session.started_at and may_be_explicit(other.shared, size)
    ]


def counted(references: Iterable[Reference]) -> float:
    """Count the references to one session: 1 for a session that refers explicitly, ½ for one that does implicitly."""
    weights: dict[str, float] = {}
    for reference in references:
        weight = EXPLICIT if reference.kind == "explicit" else IMPLICIT
        weights[reference.source] = max(weights.get(reference.source, 0.0), weight)
    return sum(weights.values())
