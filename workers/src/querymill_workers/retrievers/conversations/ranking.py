"""Rank the candidates of a search as of now, for one caller, and join the nearest sessions by rank."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querymill_shared.values import frozen
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedConversation, CachedSearch, SessionHit
from querymill_workers.retrievers.conversations.ports.passages import NearSession
from querymill_workers.retrievers.conversations.ports.sessions import ConversationInfo
from querymill_workers.retrievers.conversations.rules.joining import (
    UNKNOWN_LENGTH,
    JoinWeights,
    join_orders,
    join_weights,
)
from querymill_workers.retrievers.conversations.rules.question_frames import TimeOrder, asked_order
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency
from querymill_workers.retrievers.conversations.rules.scores import (
    FinalScore,
    ScoreBounds,
    Worth,
    context_of,
    final_score,
)
from querymill_workers.retrievers.conversations.understanding import Question
from querymill_workers.text.rank_fusion import JoinedHit
from querymill_workers.text.thesaurus import Thesaurus

#: A session is about a subject if its best passage has this share of the best score of all.
ABOUT: Final = 0.5


@frozen
class ScoredSession:
    """A candidate with its session, the days since its last activity, and its final score by words.

    ``joined`` is what it has by rank if vectors were joined, with ``weights``, and ``near`` its nearest passage.
    ``placed_for`` is the order of time that it was placed by.
    """

    hit: SessionHit
    session: CachedConversation
    days: float
    final: FinalScore
    joined: JoinedHit[str] | None = None
    weights: JoinWeights = UNKNOWN_LENGTH
    near: NearSession | None = None
    placed_for: TimeOrder | None = None

    @property
    def score(self) -> float:
        """The score that the list is ordered by."""
        return self.final.score if self.joined is None else self.joined.score

    @property
    def has_words(self) -> bool:
        """Whether words found it, and not vectors alone."""
        return self.joined is None or "words" in self.joined.ranks


def rank_candidates(question: Question, recalled: CachedSearch, ports: ConversationPorts) -> list[ScoredSession]:
    """Score the candidates and return them best first, ties by id.

    Those that are not from the time asked for come below the others. Sessions dropped since the search are left out.
    """
    sessions = fetch_sessions(question, [hit.id for hit in recalled.candidates], ports)
    best = max((hit.score for hit in recalled.candidates if hit.id in sessions), default=0.0)
    if best <= 0:
        return []
    scored = [
        score_candidate(question, hit, sessions[hit.id], best) for hit in recalled.candidates if hit.id in sessions
    ]
    outside = recalled.relaxed or frozenset()
    return sorted(scored, key=lambda candidate: (candidate.hit.id in outside, -candidate.final.score, candidate.hit.id))


def join_near(
    question: Question,
    recalled: CachedSearch,
    ranking: Sequence[ScoredSession],
    near: Sequence[NearSession],
    ports: ConversationPorts,
) -> list[ScoredSession]:
    """Join the candidates with the nearest sessions, best first, ties by id. Sessions dropped since are left out.

    Where a time was relaxed, what the words found within it stays above the rest.
    """
    known = {candidate.hit.id: candidate for candidate in ranking}
    new = [found.session_id for found in near if found.session_id not in known]
    for id_, session in fetch_sessions(question, new, ports).items():
        known[id_] = score_candidate(question, SessionHit(id_, 0.0), session, 1.0)
    passages = {found.session_id: found for found in near if found.session_id in known}
    weights = weights_for(recalled)
    joined = [
        replace(known[hit.key], joined=hit, weights=weights, near=passages.get(hit.key))
        for hit in join_orders([candidate.hit.id for candidate in ranking], list(passages), weights)
    ]
    if recalled.relaxed is None:
        return joined
    within = {candidate.hit.id for candidate in ranking} - recalled.relaxed
    return sorted(joined, key=lambda candidate: candidate.hit.id not in within)


def weights_for(recalled: CachedSearch) -> JoinWeights:
    """Return what words and vectors weigh, by the length of the entries that the words were searched in."""
    scored = next((hit.scored for hit in recalled.candidates if hit.scored is not None), None)
    return UNKNOWN_LENGTH if scored is None else join_weights(scored.statistics.average)


def order_by_time(question: Question, recalled: CachedSearch, ranking: Sequence[ScoredSession]) -> list[ScoredSession]:
    """Put the sessions about the subject first, in the order of time that the frame of the question asks for, if any.

    A session is about the subject if its best passage scores at least half of the best one by words. What has the words
    by the way only, and what vectors alone found, follows in its order.
    """
    order = None if question.request.diversify else asked_order(recalled.understanding.dropped)
    if order is None:
        return list(ranking)
    outside = recalled.relaxed or frozenset()
    best = max((best_passage_score(candidate.hit) for candidate in ranking), default=0.0)
    about = [
        replace(candidate, placed_for=order)
        for candidate in ranking
        if candidate.has_words and candidate.hit.id not in outside and best_passage_score(candidate.hit) >= ABOUT * best
    ]
    if order == "newest":
        about.sort(key=lambda candidate: candidate.session.last_active, reverse=True)
    else:
        about.sort(key=lambda candidate: candidate.session.started_at)
    first = {candidate.hit.id for candidate in about}
    return [*about, *(candidate for candidate in ranking if candidate.hit.id not in first)]


def best_passage_score(hit: SessionHit) -> float:
    """Return the score by words of the best passage of a session."""
    return hit.passages[0].score if hit.passages else hit.score


def score_candidate(question: Question, hit: SessionHit, session: CachedConversation, best: float) -> ScoredSession:
    """Score one candidate; ``best`` is the highest BM25 of all candidates."""
    request = question.request
    days = age_days(session.last_active, question.now)
    context = context_of(session.session_id, current=request.current_session, recent=frozenset(request.recent_sessions))
    worth = Worth(hit.score / best, rank(session.parts, days), recency(days), context)
    bounds = ScoreBounds(request.rank_swing, request.decay_swing, request.context_cap)
    return ScoredSession(hit, session, days, final_score(worth, scoring=request.scoring, bounds=bounds))


def fetch_sessions(
    question: Question, session_ids: Sequence[str], ports: ConversationPorts
) -> dict[str, CachedConversation]:
    """Return what ranking needs to know of sessions, from the cache where possible. Dropped sessions are left out."""
    cache, collection = ports.conversation_caches.sessions, question.request.collection
    known = {id_: cache.get((collection, question.generation, id_)) for id_ in session_ids}
    unknown = [id_ for id_, session in known.items() if session is None]
    infos = ports.conversations.describe(collection, unknown) if unknown else {}
    thesaurus = ports.thesauri["conversations"]
    fresh = {id_: cached_conversation(info, thesaurus) for id_, info in infos.items()}
    for id_, session in fresh.items():
        cache.put((collection, question.generation, id_), session)
    return fresh | {id_: session for id_, session in known.items() if session is not None}


def cached_conversation(info: ConversationInfo, thesaurus: Thesaurus) -> CachedConversation:
    """Build the cached form of a session. Its topic comes from its name, or else from its first message."""
    return CachedConversation(
        info.session_id,
        info.name,
        info.user_name,
        info.started_at,
        info.last_active,
        info.parts,
        thesaurus.topic_of(info.name or "", info.opening),
        info.metadata,
    )
