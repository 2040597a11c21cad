"""Explain why a session is not among the hits."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.why_not import Absence
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.search.choose import ChosenSession
from querymill_workers.retrievers.conversations.search.score import ScoredSession
from querymill_workers.retrievers.conversations.search.understand import Question
from querymill_workers.retrievers.conversations.search.word_recall import find_sessions, score_within

#: What a session has to pass, in order.
GATES: Final = ("collection", "filter", "time", "words", "candidates", "score", "diversification")


def explain_absence(
    question: Question,
    recalled: CachedSearch,
    ranking: Sequence[ScoredSession],
    chosen: Sequence[ChosenSession],
    ports: ConversationPorts,
) -> Absence | None:
    """Name the first gate that a session did not pass, with the reason. None if the request asks about no session."""
    wanted, collection, conditions = question.request.why_not, question.request.collection, question.request.filter
    if wanted is None:
        return None
    if wanted not in ports.conversations.describe(collection, [wanted]):
        return Absence.at(wanted, GATES, "collection", "the collection has no such session")
    if conditions and wanted not in ports.conversations.passing(collection, conditions):
        return Absence.at(wanted, GATES, "filter", "it does not pass the filter")
    if wanted in {candidate.hit.id for candidate in ranking}:
        return explain_placement(wanted, question.limit, ranking, chosen)
    keeps_time = question.span is not None and recalled.relaxed is None
    if keeps_time and wanted not in (recalled.groups or ()):
        return Absence.at(wanted, GATES, "time", "none of its messages is from the time asked for")
    return explain_relevance(question, wanted, recalled, ports)


def explain_relevance(question: Question, wanted: str, recalled: CachedSearch, ports: ConversationPorts) -> Absence:
    """Say what words a session lacks, or how far it is from the candidates."""
    collection, span = question.request.collection, None if recalled.relaxed is not None else question.span
    own: Sequence[SessionHit] = find_sessions(
        ports.words, collection, recalled.text, limit=1, wanted=1, groups=[wanted]
    )
    if not own:
        also = ", and is not among the nearest by vectors" if question.request.joins_vectors else ""
        return Absence.at(wanted, GATES, "words", f"it has none of the words that were searched{also}")
    if span is not None:
        own = score_within(own, span, collection, ports.conversations)
        if not own:
            reason = "its messages from the time asked for have none of the words that were searched"
            return Absence.at(wanted, GATES, "words", reason)
    least = recalled.candidates[-1].score if recalled.candidates else 0.0
    reason = f"its BM25 is {own[0].score:.4f}; the last of the {len(recalled.candidates)} candidates has {least:.4f}"
    return Absence.at(wanted, GATES, "candidates", reason)


def explain_placement(
    wanted: str, limit: int, ranking: Sequence[ScoredSession], chosen: Sequence[ChosenSession]
) -> Absence:
    """Say where a candidate ranks, and whether its score or diversification kept it out."""
    place = next(number for number, candidate in enumerate(ranking, start=1) if candidate.hit.id == wanted)
    order = [each.candidate.hit.id for each in chosen]
    if wanted in order:
        return Absence.as_hit(wanted, GATES, order.index(wanted) + 1)
    reason = f"place {place} of {len(ranking)} by score ({ranking[place - 1].score:.4f}), {limit} are returned"
    return Absence.at(wanted, GATES, "diversification" if place <= limit else "score", reason)
