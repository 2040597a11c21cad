"""What a judge's order makes of the explanation of an absence."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.rerank import RERANK
from querymill_shared.contracts.why_not import Absence, Gate, Lever
from querymill_workers.services.rules.reranking import Reranked

#: The gate of the judge, after those of the search.
GATE: Final = RERANK


def absence_in(absence: Absence | None, order: Sequence[Reranked], *, shown: int, limit: str) -> Absence | None:
    """Return what the search for candidates says of an absence, put right by the order of the judge.

    What is no candidate failed at a gate of the search. A change of the request that brings it among the candidates
    then says nothing of its place after the judge. A candidate is a hit if it is among the first ``shown`` after the
    judge. For example, what was at place 2 and is at place 7, where 5 are returned, fails at the gate of the judge, and
    ``limit`` 7 would bring it in.

    Args:
        absence: What the search says; None if nothing was asked.
        order: The candidates after the judge, each named by its place before.
        shown: How many of them are returned.
        limit: What the kind calls the number of hits that it returns.
    """
    if absence is None:
        return None
    if absence.place is None:
        gate = Gate(name=GATE, outcome="unreached")
        lever = None if absence.lever is None else absence.lever.model_copy(update={"place": None})
        return absence.model_copy(update={"gates": (*absence.gates, gate), "lever": lever})
    before = absence.place
    after = next(place for place, hit in enumerate(order, start=1) if hit.id == str(before))
    relevance = order[after - 1].relevance
    said = f"place {before} before the judge, {after} after it"
    said += f" (relevance {relevance:g})" if relevance is not None else " (not judged)"
    if after <= shown:
        gate = Gate(name=GATE, outcome="passed", said=said)
        return absence.model_copy(update={"gates": (*absence.gates, gate), "place": after})
    gate = Gate(name=GATE, outcome="failed", said=f"{said}; {shown} {'is' if shown == 1 else 'are'} returned")
    lever = Lever(fields={limit: after}, place=after)
    return absence.model_copy(update={"gates": (*absence.gates, gate), "place": None, "lever": lever})
