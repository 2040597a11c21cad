"""Explain why a session is not among the hits."""

from collections.abc import Sequence

from querymill_shared.contracts.conversations.search import WhyNot
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch, SessionHit
from querymill_workers.retrievers.conversations.ranking import ScoredSession
from querymill_workers.retrievers.conversations.relevance import find_sessions, scored_within
from querymill_workers.retrievers.conversations.showing import order_of, top_n
from querymill_workers.retrievers.conversations.understanding import Question, sessions_in_time


def explain_absence(
    question: Question, wanted: str, recalled: CachedSearch, ranking: Sequence[ScoredSession], ports: ConversationPorts
) -> WhyNot:
    """Name the first gate that a session did not pass, with the reason."""
    collection = question.request.collection
    if wanted not in ports.conversations.describe(collection, [wanted]):
        return WhyNot(session_id=wanted, gate="collection", reason="the collection has no such session")
    conditions = question.request.filter
    if conditions and wanted not in ports.conversations.passing(collection, conditions):
        return WhyNot(session_id=wanted, gate="filter", reason="it does not pass the filter")
    if wanted in {candidate.hit.id for candidate in ranking}:
        return explain_placement(question, wanted, recalled, ranking)
    let_through = sessions_in_time(question, ports.conversations)
    if let_through is not None and wanted not in let_through and recalled.relaxed is None:
        return WhyNot(session_id=wanted, gate="time", reason="none of its messages is from the time asked for")
    own: Sequence[SessionHit] = find_sessions(
        ports.words, collection, recalled.text, limit=1, wanted=1, groups=[wanted]
    )
    if not own:
        also = ", and is not among the nearest by vectors" if question.request.joins_vectors else ""
        return WhyNot(session_id=wanted, gate="words", reason=f"it has none of the words that were searched{also}")
    if question.timed is not None and recalled.relaxed is None:
        own = scored_within(own, question.timed.range, collection, ports.conversations)
        if not own:
            reason = "its messages from the time asked for have none of the words that were searched"
            return WhyNot(session_id=wanted, gate="words", reason=reason)
    least = recalled.candidates[-1].score if recalled.candidates else 0.0
    reason = f"its BM25 is {own[0].score:.4f}; the last of the {len(recalled.candidates)} candidates has {least:.4f}"
    return WhyNot(session_id=wanted, gate="candidates", reason=reason)


def explain_placement(
    question: Question, wanted: str, recalled: CachedSearch, ranking: Sequence[ScoredSession]
) -> WhyNot:
    """Say where a candidate ranks, and whether its score or diversification kept it out."""
    mode = recalled.understanding.mode
    limit = top_n(question.request, mode)
    place = next(number for number, candidate in enumerate(ranking, start=1) if candidate.hit.id == wanted)
    order = [placed.session_id for placed in order_of(question, mode, ranking)]
    if wanted in order:
        return WhyNot(session_id=wanted, gate=None, reason=f"it is hit {order.index(wanted) + 1}")
    reason = f"place {place} of {len(ranking)} by score ({ranking[place - 1].score:.4f}), {limit} are returned"
    return WhyNot(session_id=wanted, gate="diversification" if place <= limit else "score", reason=reason)
