"""Explain why a session is not among the hits."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.why_not import Absence
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.sessions import KIND
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.search.choose import ChosenSession
from querymill_workers.retrievers.conversations.search.recall import beside_of, find_sessions, score_within
from querymill_workers.retrievers.conversations.search.score import ScoredSession
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion

#: What a session has to pass, in order.
GATES: Final = ("collection", "filter", "time", "words", "candidates", "score", "diversification")


def explain_absence(
    question: ConversationQuestion,
    recalled: CachedSearch,
    ranking: Sequence[ScoredSession],
    chosen: Sequence[ChosenSession],
    ports: ConversationPorts,
) -> Absence | None:
    """Name the first gate that a session did not pass, with the reason. None if the request asks about no session."""
    wanted = question.request.why_not
    if wanted is None:
        return None
    order = [each.candidate.hit.id for each in chosen]
    if wanted in order:
        return Absence.as_hit(wanted, GATES, order.index(wanted) + 1)
    ranked = [candidate.hit.id for candidate in ranking]
    if wanted in ranked:
        lost = say_place(ranking, ranked.index(wanted) + 1, question.limit)
    else:
        lost = say_unfound(question, wanted, recalled, ports)
    return Absence.at(wanted, GATES, *lost)


def say_unfound(
    question: ConversationQuestion, wanted: str, recalled: CachedSearch, ports: ConversationPorts
) -> tuple[str, str]:
    """Return the gate at which a session was lost that is no candidate, and the reason."""
    collection, conditions = question.request.collection, question.request.filter
    if wanted not in ports.conversations.describe(collection, [wanted]):
        return "collection", "the collection has no such session"
    if conditions and wanted not in ports.documents[KIND].ids(collection, conditions):
        return "filter", "it does not pass the filter"
    span = None if recalled.relaxed is not None else question.span
    if span is not None and wanted not in (recalled.groups or ()):
        return "time", "none of its messages is from the time asked for"
    own: Sequence[SessionHit] = find_sessions(
        ports.words, collection, recalled.text, limit=1, wanted=1, groups=[wanted],
        beside=beside_of(question, recalled.understanding.synonyms),
    )  # fmt: skip
    if not own:
        also = ", and is not among the nearest by vectors" if question.request.joins_vectors else ""
        return "words", f"it has none of the words that were searched{also}"
    if span is not None:
        own = score_within(own, span, collection, ports)
        if not own:
            return "words", "its messages from the time asked for have none of the words that were searched"
    least = recalled.candidates[-1].score if recalled.candidates else 0.0
    said = f"its BM25 is {own[0].score:.4f}; the last of the {len(recalled.candidates)} candidates has {least:.4f}"
    return "candidates", said


def say_place(ranking: Sequence[ScoredSession], place: int, limit: int) -> tuple[str, str]:
    """Return whether its score or diversification kept a candidate out, and its place."""
    said = f"place {place} of {len(ranking)} by score ({ranking[place - 1].score:.4f}), {limit} are returned"
    return "diversification" if place <= limit else "score", said
