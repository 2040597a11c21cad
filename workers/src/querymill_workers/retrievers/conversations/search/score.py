"""Score what a search recalled, as of now and for one caller."""

from collections.abc import Iterable, Sequence

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedConversation, CachedSearch
from querymill_workers.retrievers.conversations.ports.passages import NearSession
from querymill_workers.retrievers.conversations.ports.sessions import ConversationInfo
from querymill_workers.retrievers.conversations.rules.joining import UNKNOWN_LENGTH, JoinWeights
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency
from querymill_workers.retrievers.conversations.rules.scores import (
    FinalScore,
    ScoreBounds,
    Worth,
    context_of,
    final_score,
)
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.rules.subject import TimeOrder
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion
from querymill_workers.text.rank_fusion import JoinedHit
from querymill_workers.text.thesaurus import Thesaurus


@value
class ScoredSession:
    """A candidate with its session, the days since its last activity, and its score by words with what that is made of.

    ``joined`` is what it has by rank if vectors were joined, with ``weights``, and ``near`` its nearest passage.
    ``placed_for`` is the order of time that it was placed by.
    """

    hit: SessionHit
    session: CachedConversation
    days: float
    worth: Worth
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


@value
class ScoredSessions:
    """The candidates, best first, ties by id, and the sessions that vectors alone found."""

    by_words: Sequence[ScoredSession]
    others: Sequence[ScoredSession]


def score_sessions(
    question: ConversationQuestion, recalled: CachedSearch, near: Sequence[NearSession], ports: ConversationPorts
) -> ScoredSessions:
    """Score all sessions that were recalled. Those that were dropped since are left out.

    Candidates that are not from the time asked for come below the others.
    """
    wanted = dict.fromkeys([hit.id for hit in recalled.candidates] + [found.session_id for found in near])
    sessions = fetch_sessions(question, wanted, ports)
    hits = [hit for hit in recalled.candidates if hit.id in sessions]
    best = max((hit.score for hit in hits), default=0.0)
    by_words = {hit.id: score_session(question, hit, sessions[hit.id], best) for hit in hits} if best > 0 else {}
    others = [
        score_session(question, SessionHit(found.session_id, 0.0), sessions[found.session_id], 1.0)
        for found in near
        if found.session_id in sessions and found.session_id not in by_words
    ]
    outside = recalled.relaxed or frozenset()
    best_first = sorted(
        by_words.values(), key=lambda scored: (scored.hit.id in outside, -scored.final.score, scored.hit.id)
    )
    return ScoredSessions(best_first, others)


def fetch_sessions(
    question: ConversationQuestion, session_ids: Iterable[str], ports: ConversationPorts
) -> dict[str, CachedConversation]:
    """Return what ranking needs to know of sessions, from the cache where possible. Dropped sessions are left out."""
    cache, collection, generation = ports.conversation_caches.sessions, question.request.collection, question.generation
    known = {id_: cache.get((collection, generation, id_)) for id_ in session_ids}
    unknown = [id_ for id_, session in known.items() if session is None]
    infos = ports.conversations.describe(collection, unknown) if unknown else {}
    thesaurus = ports.thesauri["conversations"]
    fresh = {id_: cached_conversation(info, thesaurus) for id_, info in infos.items()}
    for id_, session in fresh.items():
        cache.put((collection, generation, id_), session)
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


def score_session(
    question: ConversationQuestion, hit: SessionHit, session: CachedConversation, best: float
) -> ScoredSession:
    """Score one session; ``best`` is the highest BM25 of all candidates."""
    request = question.request
    days = age_days(session.last_active, question.now)
    of_session, decay = rank(session.parts, days), recency(days)
    context = context_of(session.session_id, current=request.current_session, recent=frozenset(request.recent_sessions))
    worth = Worth(hit.score / best, of_session, decay, context)
    bounds = ScoreBounds(request.rank_swing, request.decay_swing, request.context_cap)
    return ScoredSession(hit, session, days, worth, final_score(worth, scoring=request.scoring, bounds=bounds))
