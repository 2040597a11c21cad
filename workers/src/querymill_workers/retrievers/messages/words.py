"""`messages` by words: beside the vectors (hybrid), or in their place when there is none to compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.messages.search import Channel, MessageHit, MessageSearch
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.messages.hits import Found, best_similarity, floor_of, hit
from querymill_workers.retrievers.messages.ports import SPACES
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, VectorType
from querymill_workers.text import bm25
from querymill_workers.text.rank_fusion import JoinedHit, reciprocal_rank_fusion
from querymill_workers.words.ports import WordHit

#: Rows that each ranking gives for every row that is returned, and the least that it gives.
CANDIDATES_PER_HIT = 4
LEAST_CANDIDATES = 50
#: Sessions whose pending rows are looked for by their words, the newest ones.
MOST_LACKING = 200


@dataclass(frozen=True, slots=True)
class Worded:
    """Rows found by their words, the best first; ``whole`` when no more rows have any of the words."""

    rows: Sequence[MessageRow]
    scored: Mapping[str, WordHit]
    whole: bool


def candidates_of(request: MessageSearch) -> int:
    """Say how many rows each ranking gives."""
    return max(LEAST_CANDIDATES, CANDIDATES_PER_HIT * request.limit)


def worded(
    request: MessageSearch,
    where: MessageFilter,
    vector_type: VectorType,
    vector: npt.NDArray[np.float32] | None,
    ports: Ports,
) -> Worded:
    """Rank rows by BM25 under the filter; asks for more until enough of them pass it.

    Raises:
        Refused: The words were made by another tokeniser.
    """
    wanted = most = candidates_of(request)
    groups = groups_of(where, ports)
    while True:
        hits = ports.words.search(where.collection, SPACES[vector_type], request.query, limit=most, groups=groups)
        ids = [found.id for found in hits]
        rows = ports.messages.rows(where, ids, vector, model=ports.embeddings.model)
        whole = len(hits) < most
        if whole or len(rows) >= wanted:
            ranked = [rows[id_] for id_ in ids if id_ in rows][:wanted]
            return Worded(ranked, {found.id: found for found in hits}, whole and len(rows) <= wanted)
        most *= 4


def groups_of(where: MessageFilter, ports: Ports) -> Sequence[str] | None:
    """Name the sessions whose words are looked at, None for all."""
    if where.session_id is not None:
        return [where.session_id]
    return None if where.lacking is None else ports.messages.lacking_sessions(where, most=MOST_LACKING)


def with_pending(found: Found, request: MessageSearch, where: MessageFilter, ports: Ports) -> Found:
    """Add the pending rows that are found by text, in the place of their similarity; no threshold is theirs."""
    text = by_text(request, replace(where, lacking=ports.embeddings.model), ports, why="")
    pending = [hit.model_copy(update={"score": hit.similarity}) for hit in text.results]
    ranked = sorted([*found.results, *pending], key=lambda hit: -hit.similarity)
    return found.model_copy(
        update={
            "results": tuple(ranked[: request.limit]),
            "total": found.total + text.total,
            "total_is_exact": found.total_is_exact and text.total_is_exact,
            "degraded": tuple(one for one in text.degraded if one[0] != "embed"),
        }
    )


def by_text(request: MessageSearch, where: MessageFilter, ports: Ports, *, why: str) -> Found:
    """Find rows that contain the question, the newest first, then rows that have its words, the best first."""
    most = candidates_of(request)
    containing, count = ports.messages.containing(where, request.query, most=most)
    hits = [
        textual(row, request, ports, score=0.0, channel="substring", why={"formula": "contains the query"})
        for row in containing
    ]
    known = {row.vector_id for row in containing}
    degraded, whole = [("embed", why)], True
    for vector_type in where.vector_types:
        try:
            found = worded(request, where, vector_type, None, ports)
        except Refused as error:
            degraded.append(("words", str(error)))
            continue
        whole = whole and found.whole
        hits += [by_bm25(row, found, request, ports) for row in newest_first(found) if row.vector_id not in known]
    return Found(
        mode="text",
        why=why,
        results=tuple(hits[: request.limit]),
        total=count + len(hits) - len(containing),
        total_is_exact=whole and count == len(containing),
        compared=False,
        degraded=tuple(degraded),
    )


def newest_first(found: Worded) -> list[MessageRow]:
    """Order rows by their score, equal ones by their time, then by their id."""
    by_id = sorted(found.rows, key=lambda row: row.vector_id)
    by_time = sorted(by_id, key=lambda row: row.created_at, reverse=True)
    return sorted(by_time, key=lambda row: -found.scored[row.vector_id].score)


def by_bm25(row: MessageRow, found: Worded, request: MessageSearch, ports: Ports) -> MessageHit:
    """Show a row that was found by its words alone."""
    worth = found.scored[row.vector_id]
    why = {} if worth.scored is None else bm25.explain(worth.scored)
    return textual(row, request, ports, score=worth.score, channel="words", why=why)


def textual(
    row: MessageRow, request: MessageSearch, ports: Ports, *, score: float, channel: Channel, why: dict[str, object]
) -> MessageHit:
    """Show a row of a search by text."""
    return hit(row, request, ports.calibration, score=score, found_by=(channel,), explanation=why)


def by_words_too(request: MessageSearch, where: MessageFilter, vector: npt.NDArray[np.float32], ports: Ports) -> Found:
    """Join the rankings by vectors and by words, by rank alone.

    A row whose similarity is known must reach the threshold, whichever ranking found it. With context, a message's
    own row and its context's count half each, and the message is one hit.
    """
    floor, most = floor_of(request, ports.calibration), candidates_of(request)
    rankings: dict[str, list[MessageRow]] = {}
    exact, whole, skipped, degraded = True, True, 0, []
    nearest: list[MessageRow] = []
    for vector_type in where.vector_types:
        one = replace(where, vector_types=(vector_type,))
        near = ports.messages.nearest(one, vector, model=ports.embeddings.model, most=most, floor=floor)
        rankings[f"vector:{vector_type}"] = reaching(near.rows, floor)
        exact = exact and near.exact and near.passed <= most
        nearest += near.rows[:1]
        skipped += near.skipped
        try:
            found = worded(request, one, vector_type, vector, ports)
        except Refused as error:
            degraded.append(("words", str(error)))
            continue
        rankings[f"words:{vector_type}"] = reaching(found.rows, floor)
        whole = whole and found.whole
    hits = joined(rankings, request, ports)
    return Found(
        mode="hybrid",
        results=tuple(hits[: request.limit]),
        total=len(hits),
        total_is_exact=exact and whole,
        searched="exact" if exact else "approximate",
        best_below_threshold=None if hits else best_similarity(nearest, ports.calibration),
        skipped=skipped,
        compared=bool(nearest),
        degraded=tuple(degraded),
    )


def reaching(rows: Sequence[MessageRow], floor: float) -> list[MessageRow]:
    """Keep rows that are similar enough, or of which nobody knows."""
    return [row for row in rows if row.raw is None or row.raw >= floor]


def joined(rankings: Mapping[str, Sequence[MessageRow]], request: MessageSearch, ports: Ports) -> list[MessageHit]:
    """Fuse rankings of rows; each message once, shown by the row that is the message itself if that was found."""
    shown: dict[str, MessageRow] = {}
    for rows in rankings.values():
        for row in rows:
            key = key_of(row)
            if key not in shown or (row.vector_type == "message" and shown[key].vector_type != "message"):
                shown[key] = row
    share = 1 / len(request.vector_types)
    weights = {
        name: share * (request.vector_weight if name.startswith("vector") else request.words_weight)
        for name in rankings
    }
    keys = {name: [key_of(row) for row in rows] for name, rows in rankings.items()}
    fused = reciprocal_rank_fusion(keys, weights=weights, k=request.rrf_k)
    return [fusion_hit(one, shown[one.key], weights, request, ports) for one in fused]


def key_of(row: MessageRow) -> str:
    """Name the message that a row is of."""
    return f"{len(row.session_id)}/{row.session_id}/{row.message_key}"


def fusion_hit(
    fused: JoinedHit[str], row: MessageRow, weights: Mapping[str, float], request: MessageSearch, ports: Ports
) -> MessageHit:
    """Show a message with the ranks that its score came from."""
    channels: tuple[Channel, ...] = ("vector", "words")
    found_by = tuple(channel for channel in channels if any(name.startswith(channel) for name in fused.ranks))
    explanation = {
        "formula": "Σ weight / (rrf_k + rank)",
        "rrf_k": request.rrf_k,
        "ranks": dict(fused.ranks),
        "weights": {name: weights[name] for name in fused.ranks},
        "score": fused.score,
    }
    return hit(row, request, ports.calibration, score=fused.score, found_by=found_by, explanation=explanation)
