"""Rank the candidates of a search as of now, for one caller."""

from collections.abc import Sequence
from dataclasses import dataclass

from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedConversation, CachedSearch
from querymill_workers.retrievers.conversations.ports.sessions import ConversationInfo
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency
from querymill_workers.retrievers.conversations.rules.scores import (
    FinalScore,
    ScoreBounds,
    Worth,
    context_of,
    final_score,
)
from querymill_workers.retrievers.conversations.rules.synonyms import topic_of
from querymill_workers.retrievers.conversations.understanding import Question
from querymill_workers.words.ports import WordHit


@dataclass(frozen=True, slots=True)
class ScoredSession:
    """A candidate with its session, the days since its last activity, and its final score."""

    hit: WordHit
    session: CachedConversation
    days: float
    final: FinalScore


def rank_candidates(question: Question, recalled: CachedSearch, ports: ConversationPorts) -> list[ScoredSession]:
    """Score the candidates and return them best first, ties by id. Sessions dropped since the search are left out."""
    sessions = fetch_sessions(question, [hit.id for hit in recalled.candidates], ports)
    best = max((hit.score for hit in recalled.candidates if hit.id in sessions), default=0.0)
    if best <= 0:
        return []
    scored = [
        score_candidate(question, hit, sessions[hit.id], best) for hit in recalled.candidates if hit.id in sessions
    ]
    return sorted(scored, key=lambda candidate: (-candidate.final.score, candidate.hit.id))


def score_candidate(question: Question, hit: WordHit, session: CachedConversation, best: float) -> ScoredSession:
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
    fresh = {id_: cached_conversation(info) for id_, info in infos.items()}
    for id_, session in fresh.items():
        cache.put((collection, question.generation, id_), session)
    return fresh | {id_: session for id_, session in known.items() if session is not None}


def cached_conversation(info: ConversationInfo) -> CachedConversation:
    """Build the cached form of a session. Its topic comes from its name, or else from its first message."""
    return CachedConversation(
        info.session_id,
        info.name,
        info.user_name,
        info.started_at,
        info.last_active,
        info.parts,
        topic_of(info.name or "", info.opening),
    )
