"""Update the references of one changed session, so that the stored graph equals that of a full rebuild.

An update touches the session, the sessions it refers to, and those that refer to it. An older session that is
imported late becomes the target of later ones, and an explicit phrase in a later session may now mean it.
"""

from collections.abc import Sequence

from querymill_workers.retrievers.conversations.ports.ranks import ReferenceGraph
from querymill_workers.retrievers.conversations.rules.references import (
    Near,
    Reference,
    explicit_candidates,
    explicit_reference,
    implicit_references,
    is_better,
)
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts


def update(graph: ReferenceGraph, session_id: str) -> int:
    """Replace the references from and to a session with those that its facts now give; return how many changed."""
    before = set(graph.references(session_id))
    session = graph.facts(session_id)
    near = [] if session is None else graph.near(session)
    after = set() if session is None else from_and_to(session, near)
    gone, new = retarget_explicit_references(graph, session_id, session, near, before)
    gone, new = (gone | before) - (after | new), (after | new) - before
    graph.replace(gone, new)
    graph.count({reference.target for reference in gone | new} | ({session_id} if session else set()))
    return len(gone) + len(new)


def from_and_to(session: SessionFacts, near: Sequence[Near]) -> set[Reference]:
    """List the references of a session, except the explicit ones to it: these depend on other sessions."""
    explicit = explicit_reference(session, near)
    return set(implicit_references(session, near)) | ({explicit} if explicit else set())


def retarget_explicit_references(
    graph: ReferenceGraph,
    session_id: str,
    session: SessionFacts | None,
    near: Sequence[Near],
    before: set[Reference],
) -> tuple[set[Reference], set[Reference]]:
    """Decide what the explicit phrases of later sessions mean now; return the references to remove and to add."""
    meant = {edge.source: edge for edge in before if edge.kind == "explicit" and edge.target == session_id}
    candidates = {} if session is None else {edge.source: edge for edge in explicit_candidates(session, near)}
    rivals = graph.explicit([source for source in candidates if source not in meant])
    gone, new = set(meant.values()), set()
    for source, candidate in candidates.items():
        rival = rivals.get(source)
        if source not in meant and is_better(candidate, rival):
            new.add(candidate)
            gone |= {rival} if rival else set()
    for source, old in meant.items():
        again = candidates.get(source)
        if again is not None and not is_better(old, again):
            new.add(again)  # at least as good as when it was chosen as the best
        else:
            facts = graph.facts(source)
            best = None if facts is None else explicit_reference(facts, graph.near(facts))
            new |= {best} if best else set()
    return gone, new
