"""Join words and vectors by rank, order by time if the question asks for it, and choose the hits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.passages import NearSession
from querymill_workers.retrievers.conversations.rules.diversification import Placed, Ranked, age_of, diversify
from querymill_workers.retrievers.conversations.rules.joining import join_orders, join_weights
from querymill_workers.retrievers.conversations.search.score import ScoredSession, ScoredSessions
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion
from querymill_workers.text.languages import language_of
from querymill_workers.vectors.rules.worth import VectorsWorth

#: A session is about a subject if its best passage has this share of the best score of all.
ABOUT: Final = 0.5


def rank_sessions(
    question: ConversationQuestion,
    recalled: CachedSearch,
    scored: ScoredSessions,
    near: Sequence[NearSession],
    worth: VectorsWorth | None = None,
) -> list[ScoredSession]:
    """Order all sessions that were scored, best first. ``worth`` is what is known of the vectors."""
    ranking = join_near(question, recalled, scored, near, worth) if near else list(scored.by_words)
    return ranking if question.request.diversify else order_by_time(question, recalled, ranking)


def join_near(
    question: ConversationQuestion,
    recalled: CachedSearch,
    scored: ScoredSessions,
    near: Sequence[NearSession],
    worth: VectorsWorth | None,
) -> list[ScoredSession]:
    """Join the candidates with the nearest sessions, best first, ties by id.

    Where a time was relaxed, what the words found within it stays above the rest.
    """
    by_id = {each.hit.id: each for each in (*scored.by_words, *scored.others)}
    by_words = [each.hit.id for each in scored.by_words]
    passages = {found.session_id: found for found in near if found.session_id in by_id}
    length = next((hit.scored.statistics.average for hit in recalled.candidates if hit.scored is not None), None)
    weights = join_weights(length, question.request.vectors_weight, worth, language_of(question.request.query))
    joined = [
        replace(by_id[hit.key], joined=hit, weights=weights, near=passages.get(hit.key))
        for hit in join_orders(by_words, list(passages), weights)
    ]
    if recalled.relaxed is None:
        return joined
    within = set(by_words) - recalled.relaxed
    return sorted(joined, key=lambda candidate: candidate.hit.id not in within)


def order_by_time(
    question: ConversationQuestion, recalled: CachedSearch, ranking: Sequence[ScoredSession]
) -> list[ScoredSession]:
    """Put the sessions about the subject first, in the order of time that the frame of the question asks for, if any.

    A session is about the subject if its best passage scores at least half of the best one by words. What has the words
    by the way only, and what vectors alone found, follows in its order.
    """
    order = question.text.subject.order
    if order is None:
        return list(ranking)
    outside = recalled.relaxed or frozenset()
    best = max((candidate.hit.best_score for candidate in ranking), default=0.0)
    about = [
        replace(candidate, placed_for=order)
        for candidate in ranking
        if candidate.has_words and candidate.hit.id not in outside and candidate.hit.best_score >= ABOUT * best
    ]
    if order == "newest":
        about.sort(key=lambda candidate: candidate.session.last_active, reverse=True)
    else:
        about.sort(key=lambda candidate: candidate.session.started_at)
    first = {candidate.hit.id for candidate in about}
    return [*about, *(candidate for candidate in ranking if candidate.hit.id not in first)]


@value
class ChosenSession:
    """A session that is a hit, with the step that placed it."""

    candidate: ScoredSession
    placed: Placed


def choose_hits(question: ConversationQuestion, ranking: Sequence[ScoredSession]) -> list[ChosenSession]:
    """Choose the hits of a ranking: the first ones, or diversified if the request asks for it."""
    if not question.request.diversify:
        return [
            ChosenSession(each, Placed(each.hit.id, "age" if each.placed_for else "score", each.placed_for))
            for each in ranking[: question.limit]
        ]
    zone = question.request.zone
    rows = [
        Ranked(
            each.hit.id, each.score, age_of(each.session.last_active, now=question.now, zone=zone), each.session.topic
        )
        for each in ranking
    ]
    by_id = {each.hit.id: each for each in ranking}
    return [ChosenSession(by_id[placed.session_id], placed) for placed in diversify(rows, top_n=question.limit)]
