"""Choose messages: match the recalled rows, join their rankings by rank, and cut to the limit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from querymill_shared.contracts.messages.search import Channel, MessageSearch, Ranking
from querymill_workers.retrievers.messages.rules.places import cut_with_kept, holds_rare_word
from querymill_workers.retrievers.messages.rules.sessions import MessageRow
from querymill_workers.retrievers.messages.search.matches import (
    TEXT_SIMILARITY,
    CalibratedQuestion,
    Gap,
    MessageMatch,
    MessageMatches,
    passage_of,
)
from querymill_workers.retrievers.messages.search.recall import RecalledMessages, RecalledText, WordRanking
from querymill_workers.retrievers.messages.search.understand import MessageQuestion
from querymill_workers.text import bm25
from querymill_workers.text.languages import language_of
from querymill_workers.text.rank_fusion import JoinedHit, reciprocal_rank_fusion
from querymill_workers.vectors.rules.weights import VectorsWeight, choose_weight, explain_weight
from querymill_workers.words.ports import WordHit

#: What vectors weigh by ranking where nothing is known of them: 1 to 1 loses up to 0.06 of nDCG@10 beside the words of
#: neighbours. Measured: `tests/quality/messages.md`.
USUAL_WEIGHTS: Final[Mapping[Ranking, float]] = {"best": 0.25, "vectors": 1.0}
#: What a search by text finds where nothing was searched.
NOTHING = RecalledText((), 0, (), ())


def choose_messages(
    asked: MessageQuestion, recalled: RecalledMessages, question: CalibratedQuestion | None, *, no_vector: Gap
) -> MessageMatches:
    """Choose the matches of a question, by text if nothing was compared. ``no_vector`` says why it got no vector."""
    request = asked.request
    if question is None or (recalled.text is not None and not recalled.is_compared):
        if question is not None:
            why = f"none of the {recalled.skipped} rows has a vector of {question.model} yet"
            no_vector = Gap("embed", why, "pending")
        return replace(choose_by_text(request, recalled.text or NOTHING, no_vector), skipped=recalled.skipped)
    by_rank = asked.joins_neighbours or request.hybrid
    chosen = (choose_by_rank if by_rank else choose_by_vectors)(asked, recalled, question)
    return replace(
        chosen,
        question=question if recalled.is_compared else None,
        uncalibrated=not question.calibration.points,
        skipped=recalled.skipped,
        pending=sum(pair.near.pending for pair in recalled.pairs.values()),
        compared=recalled.is_compared,
    )


def choose_by_text(request: MessageSearch, text: RecalledText, no_vector: Gap) -> MessageMatches:
    """Choose messages that contain the question, newest first, then those that have its words, best first.

    A message and its context are one match, by whichever was found first.
    """
    found = {row.message: match_by_substring(row) for row in text.containing}
    rare = list(found.values())
    for ranking in text.words:
        for row in newest_first([row for row in ranking.rows if row.message not in found], ranking):
            found[row.message] = match_by_words(row, ranking.hits[row.vector_id])
            rare += [found[row.message]] if is_rare(row, ranking) else []
    matches = list(found.values())
    return MessageMatches(
        mode="text",
        why=no_vector.reason,
        best=matches[: request.limit],
        total=max(len(matches), text.count),
        total_is_exact=text.count == len(text.containing) and all(ranking.whole for ranking in text.words),
        compared=False,
        gaps=(no_vector, *text.gaps),
        rare=rare,
    )


def choose_by_vectors(
    asked: MessageQuestion, recalled: RecalledMessages, question: CalibratedQuestion
) -> MessageMatches:
    """Choose the messages with similarity ≥ threshold, the most similar first, and by text those without a vector.

    Those are ranked at `TEXT_SIMILARITY`, without a threshold. If they hold rare words of the question, they keep some
    places.
    """
    (pair,) = recalled.pairs.values()
    passed = [row for row in pair.near.rows if row.raw is not None and row.raw >= question.min_cosine]
    found = MessageMatches(
        mode="vector",
        best=[match_by_vector(row, question) for row in passed],
        total=pair.near.passed,
        total_is_exact=pair.near.exact,
        searched="exact" if pair.near.exact else "approximate",
        best_below_threshold=None if passed else question.best_similarity(pair.near.rows),
    )
    if recalled.text is None:
        return found
    waiting = choose_by_text(asked.request, recalled.text, Gap("embed", "", "pending"))
    compared = {match.row.message for match in found.best}
    new = [match for match in (*waiting.best, *waiting.rare) if match.row.message not in compared]
    pending = {match.row.message: replace(match, score=TEXT_SIMILARITY) for match in new}
    ranked = sorted([*found.best, *pending.values()], key=lambda match: -match.similarity)
    rare = [pending[match.row.message] for match in waiting.rare if match.row.message in pending]
    return replace(
        found,
        best=cut_with_kept(ranked, rare, limit=asked.request.limit),
        total=found.total + waiting.total,
        total_is_exact=found.total_is_exact and waiting.total_is_exact,
        gaps=recalled.text.gaps,
    )


def choose_by_rank(asked: MessageQuestion, recalled: RecalledMessages, question: CalibratedQuestion) -> MessageMatches:
    """Join the rankings by vectors and by words, by rank alone.

    A row that has a vector must reach the threshold, whichever ranking found it. With contexts, a message and its
    context are ranked separately, each at half the weight, and are one hit. With ranking "best", rows that wait for a
    vector have the words of their neighbours, and no place is kept for them.
    """
    request, pairs = asked.request, recalled.pairs
    rankings: dict[str, list[MessageRow]] = {}
    rare: set[tuple[str, str]] = set()
    for name, pair in pairs.items():
        rankings[f"vector{name}"] = passing(pair.near.rows, question)
        if pair.words is not None:
            rankings[f"words{name}"] = passing(pair.words.rows, question)
            if not asked.joins_neighbours:
                rare |= {row.message for row in pair.words.rows if is_rare(row, pair.words)}
    total = len({key_of(row) for rows in rankings.values() for row in rows})
    matches = fuse(rankings, request, question, limit=request.limit if asked.joins_neighbours else None)
    waiting = [match for match in matches if match.row.raw is None and match.row.message in rare]
    is_exact = all(pair.near.exact if asked.joins_neighbours else pair.is_whole for pair in pairs.values())
    return MessageMatches(
        mode="hybrid",
        best=cut_with_kept(matches, waiting, limit=request.limit),
        total=total,
        total_is_exact=all(pair.is_whole and (pair.words is None or pair.words.whole) for pair in pairs.values()),
        searched="exact" if is_exact else "approximate",
        best_below_threshold=None
        if total
        else question.best_similarity([row for pair in pairs.values() for row in pair.near.rows[:1]]),
        gaps=recalled.gaps,
    )


def match_by_substring(row: MessageRow) -> MessageMatch:
    """Match a row that contains the question."""
    return MessageMatch(row, TEXT_SIMILARITY, 0.0, ("substring",), {"formula": "contains the query"})


def is_rare(row: MessageRow, ranking: WordRanking) -> bool:
    """Return whether a row holds a rare word of the question."""
    scored = ranking.hits[row.vector_id].scored
    return scored is not None and holds_rare_word(scored)


def newest_first(rows: Sequence[MessageRow], ranking: WordRanking) -> list[MessageRow]:
    """Order rows by score, rows of one score by time, newest first, and rows of one time by id."""
    by_id = sorted(rows, key=lambda row: row.vector_id)
    by_time = sorted(by_id, key=lambda row: row.created_at, reverse=True)
    return sorted(by_time, key=lambda row: -ranking.hits[row.vector_id].score)


def match_by_words(row: MessageRow, hit: WordHit) -> MessageMatch:
    """Match a row that has words of the question."""
    explanation = {} if hit.scored is None else bm25.explain(hit.scored)
    return MessageMatch(row, TEXT_SIMILARITY, hit.score, ("words",), explanation)


def passing(rows: Sequence[MessageRow], question: CalibratedQuestion) -> list[MessageRow]:
    """Keep the rows that reach the threshold, and those without a vector."""
    return [row for row in rows if row.raw is None or row.raw >= question.min_cosine]


def fuse(
    rankings: Mapping[str, Sequence[MessageRow]],
    request: MessageSearch,
    question: CalibratedQuestion,
    *,
    limit: int | None = None,
) -> list[MessageMatch]:
    """Fuse rankings of rows, and return the best ``limit`` matches, or all.

    Each message is matched once, by its own row if that was found, else by its context.
    """
    shown: dict[str, MessageRow] = {}
    for rows in rankings.values():
        for row in rows:
            key = key_of(row)
            if key not in shown or (row.vector_type == "message" and shown[key].vector_type != "message"):
                shown[key] = row
    share, chosen = 1 / len(request.vector_types), weight_in(request, question)
    weights = {
        name: share * (chosen.weight if name.startswith("vector") else request.words_weight) for name in rankings
    }
    keys = {name: [key_of(row) for row in rows] for name, rows in rankings.items()}
    fused = reciprocal_rank_fusion(keys, weights=weights, k=request.rrf_k)
    origin = explain_weight(chosen)
    return [match_by_rank(joined, shown[joined.key], weights, origin, request, question) for joined in fused[:limit]]


def weight_in(request: MessageSearch, question: CalibratedQuestion) -> VectorsWeight:
    """Return what the vectors weigh in a search."""
    return choose_weight(
        request.vectors_weight,
        question.worth,
        usual=USUAL_WEIGHTS[request.ranking],
        language=language_of(request.query),
    )


def key_of(row: MessageRow) -> str:
    """Name the message of a row: the same for its own row and for its context."""
    return f"{len(row.session_id)}/{row.session_id}/{row.message_key}"


def match_by_rank(
    joined: JoinedHit[str],
    row: MessageRow,
    weights: Mapping[str, float],
    origin: Mapping[str, Any],
    request: MessageSearch,
    question: CalibratedQuestion,
) -> MessageMatch:
    """Match a row with the ranks that its score came from, and where the weight of vectors comes from."""
    channels: tuple[Channel, ...] = ("vector", "words")
    found_by = tuple(channel for channel in channels if any(name.startswith(channel) for name in joined.ranks))
    explanation = {
        "formula": "Σ weight / (rrf_k + rank)",
        "rrf_k": request.rrf_k,
        "ranks": dict(joined.ranks),
        "weights": {name: weights[name] for name in joined.ranks},
        "score": joined.score,
        **origin,
    } | passage_of(row)
    return MessageMatch(row, question.similarity(row), joined.score, found_by, explanation)


def match_by_vector(row: MessageRow, question: CalibratedQuestion) -> MessageMatch:
    """Score a row by its similarity alone."""
    similarity, points = question.similarity(row), question.calibration.points
    explanation = {
        "formula": "similarity = calibrated(cosine)" if points else "similarity = cosine",
        "cosine": row.raw,
        "calibration": [list(point) for point in points],
    } | passage_of(row)
    return MessageMatch(row, similarity, similarity, ("vector",), explanation)
