"""Search messages by vectors and by words, and join both rankings by rank."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from querymill_shared.contracts.messages.search import Channel, MessageSearch
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.messages.matches import CalibratedQuestion, Gap, Match, MessageMatches, passage_of
from querymill_workers.retrievers.messages.modes.text import candidates_of, rank_by_words
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.places import cut_with_kept
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.text.rank_fusion import JoinedHit, reciprocal_rank_fusion


def search_hybrid(
    request: MessageSearch, where: MessageFilter, question: CalibratedQuestion, ports: MessagePorts
) -> MessageMatches:
    """Join the rankings by vectors and by words, by rank alone.

    A row that has a vector must reach the threshold, whichever ranking found it. With contexts, a message and its
    context are ranked separately, each at half the weight, and are one hit.
    """
    limit = candidates_of(request)
    rankings: dict[str, list[MessageRow]] = {}
    nearest: list[MessageRow] = []
    gaps: list[Gap] = []
    rare: set[tuple[str, str]] = set()
    exact, whole, skipped, pending = True, True, 0, 0
    for vector_type in where.vector_types:
        typed = replace(where, vector_types=(vector_type,))
        near = ports.messages.nearest(
            typed, question.vector, model=question.model, limit=limit, floor=question.min_cosine
        )
        rankings[f"vector:{vector_type}"] = passing(near.rows, question)
        exact = exact and near.exact and near.passed <= limit
        nearest += near.rows[:1]
        skipped, pending = skipped + near.skipped, pending + near.pending
        try:
            ranking = rank_by_words(request, typed, vector_type, ports, model=question.model, vector=question.vector)
        except Refused as error:
            gaps.append(Gap("words", str(error), error.code))
            continue
        rankings[f"words:{vector_type}"] = passing(ranking.rows, question)
        rare |= {row.message for row in ranking.rows if ranking.is_rare(row)}
        whole = whole and ranking.whole
    matches = fuse(rankings, request, question)
    return MessageMatches(
        mode="hybrid",
        best=cut_with_kept(
            matches,
            [match for match in matches if match.row.raw is None and match.row.message in rare],
            limit=request.limit,
        ),
        total=len(matches),
        total_is_exact=exact and whole,
        searched="exact" if exact else "approximate",
        best_below_threshold=None if matches else question.best_similarity(nearest),
        skipped=skipped,
        pending=pending,
        compared=bool(nearest),
        gaps=tuple(gaps),
    )


def passing(rows: Sequence[MessageRow], question: CalibratedQuestion) -> list[MessageRow]:
    """Keep the rows that reach the threshold, and those without a vector."""
    return [row for row in rows if row.raw is None or row.raw >= question.min_cosine]


def fuse(
    rankings: Mapping[str, Sequence[MessageRow]],
    request: MessageSearch,
    question: CalibratedQuestion,
    *,
    limit: int | None = None,
) -> list[Match]:
    """Fuse rankings of rows, and return the best ``limit`` matches, or all.

    Each message is matched once, by its own row if that was found, else by its context.
    """
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
    return [match_by_rank(joined, shown[joined.key], weights, request, question) for joined in fused[:limit]]


def key_of(row: MessageRow) -> str:
    """Name the message of a row: the same for its own row and for its context."""
    return f"{len(row.session_id)}/{row.session_id}/{row.message_key}"


def match_by_rank(
    joined: JoinedHit[str],
    row: MessageRow,
    weights: Mapping[str, float],
    request: MessageSearch,
    question: CalibratedQuestion,
) -> Match:
    """Match a row with the ranks that its score came from."""
    channels: tuple[Channel, ...] = ("vector", "words")
    found_by = tuple(channel for channel in channels if any(name.startswith(channel) for name in joined.ranks))
    explanation = {
        "formula": "Σ weight / (rrf_k + rank)",
        "rrf_k": request.rrf_k,
        "ranks": dict(joined.ranks),
        "weights": {name: weights[name] for name in joined.ranks},
        "score": joined.score,
    } | passage_of(row)
    return Match(row, question.similarity(row), joined.score, found_by, explanation)
