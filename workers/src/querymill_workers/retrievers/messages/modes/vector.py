"""Search messages by vectors: the nearest rows whose cosine reaches the threshold."""

from dataclasses import replace

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.retrievers.messages.matches import (
    TEXT_SIMILARITY,
    CalibratedQuestion,
    Match,
    MessageMatches,
    passage_of,
)
from querymill_workers.retrievers.messages.modes.text import search_text
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.places import cut_with_kept
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow


def search_vector(
    request: MessageSearch, where: MessageFilter, question: CalibratedQuestion, ports: MessagePorts
) -> MessageMatches:
    """Find the messages with similarity ≥ threshold, the most similar first, and by text those without a vector."""
    near = ports.messages.nearest(
        where, question.vector, model=question.model, limit=request.limit, floor=question.min_cosine
    )
    passed = [row for row in near.rows if row.raw is not None and row.raw >= question.min_cosine]
    found = MessageMatches(
        mode="vector",
        best=[match_by_vector(row, question) for row in passed],
        total=near.passed,
        total_is_exact=near.exact,
        searched="exact" if near.exact else "approximate",
        best_below_threshold=None if passed else question.best_similarity(near.rows),
        skipped=near.skipped,
        pending=near.pending,
        compared=bool(near.rows),
    )
    return add_pending(found, request, where, question, ports) if found.compared and found.skipped else found


def match_by_vector(row: MessageRow, question: CalibratedQuestion) -> Match:
    """Score a row by its similarity alone."""
    similarity, points = question.similarity(row), question.calibration.points
    explanation = {
        "formula": "similarity = calibrated(cosine)" if points else "similarity = cosine",
        "cosine": row.raw,
        "calibration": [list(point) for point in points],
    } | passage_of(row)
    return Match(row, similarity, similarity, ("vector",), explanation)


def add_pending(
    found: MessageMatches,
    request: MessageSearch,
    where: MessageFilter,
    question: CalibratedQuestion,
    ports: MessagePorts,
) -> MessageMatches:
    """Add the rows without a vector that are found by text, ranked at `TEXT_SIMILARITY`, without a threshold.

    Those that hold rare words of the question keep some places.
    """
    text = search_text(
        request, replace(where, lacking=question.model), ports, model=question.model, why="", code="pending"
    )
    compared = {match.row.message for match in found.best}
    new = [match for match in (*text.best, *text.rare) if match.row.message not in compared]
    pending = {match.row.message: replace(match, score=TEXT_SIMILARITY) for match in new}
    ranked = sorted([*found.best, *pending.values()], key=lambda match: -match.similarity)
    rare = [pending[match.row.message] for match in text.rare if match.row.message in pending]
    return replace(
        found,
        best=cut_with_kept(ranked, rare, limit=request.limit),
        total=found.total + text.total,
        total_is_exact=found.total_is_exact and text.total_is_exact,
        gaps=tuple(gap for gap in text.gaps if gap.stage != "embed"),
    )
