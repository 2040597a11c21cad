"""Build the list that a search returns: its order, and the best passage and the scores of each session."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from querymill_shared.contracts.conversations.search import (
    DEEP_TOP_N,
    TOP_N,
    ConversationHit,
    ConversationSearch,
    SearchMode,
    zone_named,
)
from querymill_workers.retrievers.conversations.ports.caches import BestPassage, CachedSearch
from querymill_workers.retrievers.conversations.ports.sessions import Conversation, Conversations
from querymill_workers.retrievers.conversations.ranking import ScoredSession
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet, best_passage
from querymill_workers.retrievers.conversations.rules.diversification import Placed, Ranked, age_of, diversify
from querymill_workers.retrievers.conversations.rules.rank import rank, recency
from querymill_workers.retrievers.conversations.rules.scores import FORMULAS
from querymill_workers.retrievers.conversations.rules.synonyms import WEIGHT
from querymill_workers.retrievers.conversations.understanding import Question
from querymill_workers.text import bm25
from querymill_workers.words.ports import WordHit


def show_hits(
    question: Question, recalled: CachedSearch, ranking: Sequence[ScoredSession], conversations: Conversations
) -> list[ConversationHit]:
    """Choose the hits and build them in order, each with its best passage."""
    by_id = {candidate.hit.id: candidate for candidate in ranking}
    order = order_of(question, recalled.understanding.mode, ranking)
    passages = find_passages(question, recalled, [by_id[place.session_id].hit for place in order], conversations)
    return [
        show_hit(question.request, by_id[place.session_id], passages[place.session_id], place)
        for place in order
        if place.session_id in passages
    ]


def order_of(question: Question, mode: SearchMode, ranking: Sequence[ScoredSession]) -> list[Placed]:
    """Order the hits by score, or diversified if the request asks for it."""
    limit = top_n(question.request, mode)
    if not question.request.diversify:
        return [Placed(candidate.hit.id, "score") for candidate in ranking[:limit]]
    zone = zone_named(question.request.time_zone)
    rows = [
        Ranked(
            candidate.hit.id,
            candidate.final.score,
            age_of(candidate.session.last_active, now=question.now, zone=zone),
            candidate.session.topic,
        )
        for candidate in ranking
    ]
    return diversify(rows, top_n=limit)


def top_n(request: ConversationSearch, mode: SearchMode) -> int:
    """Return the number of hits: that of the request, else the default of the search mode."""
    return request.top_n or (DEEP_TOP_N if mode == "deep" else TOP_N)


def find_passages(
    question: Question, recalled: CachedSearch, hits: Sequence[WordHit], conversations: Conversations
) -> Mapping[str, BestPassage]:
    """Return the best passages, cutting those that no earlier search has cut. Dropped sessions have none."""
    unread = {hit.id: hit for hit in hits if hit.id not in recalled.passages}
    sessions = conversations.sessions(question.request.collection, list(unread)) if unread else {}
    for id_, session in sessions.items():
        recalled.passages[id_] = cut_passage(unread[id_], session)
    return recalled.passages


def cut_passage(hit: WordHit, session: Conversation) -> BestPassage:
    """Cut the best passage of a session, or show its name if no message has any of the words."""
    texts = [message.text for message in session.messages]
    found = None if hit.scored is None else best_passage(texts, hit.scored)
    if found is None:
        return BestPassage(Snippet(session.name or "", (), 0), None)
    return BestPassage(found, session.messages[found.place].message_id)


def show_hit(
    request: ConversationSearch, candidate: ScoredSession, passage: BestPassage, placed: Placed
) -> ConversationHit:
    """Build a hit with every number that its score is made of."""
    session = candidate.session
    parts = asdict(session.parts) | {"recency": recency(candidate.days)}
    explanation: dict[str, Any] = {
        "formula": FORMULAS[request.scoring],
        "factors": dict(candidate.final.factors),
        "days": candidate.days,
        "rank": {"parts": parts, "rank": rank(session.parts, candidate.days)},
        "bm25": {} if candidate.hit.scored is None else bm25.explain(candidate.hit.scored),
        "synonym_weight": WEIGHT,
    }
    if request.scoring == "bounded":
        explanation |= {"a": request.rank_swing, "b": request.decay_swing, "cap": request.context_cap}
    return ConversationHit(
        session_id=session.session_id,
        name=session.name,
        user_name=session.user_name,
        started_at=session.started_at,
        last_active=session.last_active,
        score=candidate.final.score,
        explanation=explanation,
        snippet=passage.snippet.text,
        marks=passage.snippet.marks,
        message_id=passage.message_id,
        placed_by=placed.step,
        placed_for=placed.reason,
    )
