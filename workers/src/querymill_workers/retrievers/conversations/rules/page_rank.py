"""PageRank on the graph of references: a reference counts for more if its source is referred to itself."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import rustworkx

from querymill_workers.retrievers.conversations.rules.references import EXPLICIT, IMPLICIT, Reference

DAMPING: Final = 0.85


def page_ranks(session_ids: Sequence[str], references: Iterable[Reference]) -> Mapping[str, float]:
    """Return the PageRank of each session, scaled from 0 for the lowest to 1 for the highest.

    ``(rank - lowest) / (highest - lowest)``. All are 0 if there are no references. A session counts once for another:
    1 for an explicit reference, ½ for an implicit one (Page, Brin, Motwani and Winograd, 1998; damping 0.85).

    References from or to sessions that are not in ``session_ids`` are ignored.
    """
    ids = sorted(session_ids)
    places = {id_: place for place, id_ in enumerate(ids)}
    weights: dict[tuple[int, int], float] = {}
    for reference in references:
        if reference.source in places and reference.target in places:
            pair = (places[reference.source], places[reference.target])
            weight = EXPLICIT if reference.kind == "explicit" else IMPLICIT
            weights[pair] = max(weights.get(pair, 0.0), weight)
    graph: rustworkx.PyDiGraph[str, float] = rustworkx.PyDiGraph()
    graph.add_nodes_from(ids)
    graph.add_edges_from([(source, target, weights[source, target]) for source, target in sorted(weights)])
    if not weights:
        return dict.fromkeys(ids, 0.0)
    ranks = rustworkx.pagerank(graph, alpha=DAMPING, weight_fn=float, tol=1e-10, max_iter=1_000)
    lowest, highest = min(ranks.values()), max(ranks.values())
    return {id_: (ranks[place] - lowest) / (highest - lowest) for id_, place in places.items()}
