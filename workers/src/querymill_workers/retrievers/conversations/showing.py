"""The list that a search returns: which sessions, in which order, each with its best passage and its numbers."""

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
from querymill_workers.retrievers.conversations.ports.caches import BestPassage, Recalled
from querymill_workers.retrievers.conversations.ports.sessions import Conversation, Conversations
from querymill_workers.retrievers.conversations.ranking import Scored
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet, best_passage
from querymill_workers.retrievers.conversations.rules.diversification import Placed, Ranked, age_of, diversify
from querymill_workers.retrievers.conversations.rules.rank import rank, recency
from querymill_workers.retrievers.conversations.rules.scores import FORMULAS
from querymill_workers.retrievers.conversations.rules.synonyms import WEIGHT
from querymill_workers.retrievers.conversations.understanding import Asked
from querymill_workers.text import bm25
from querymill_workers.words.ports import WordHit


def placed(
    asked: Asked, recalled: Recalled, ranking: Sequence[Scored], conversations: Conversations
) -> list[ConversationHit]:
    """Choose the hits, in the order of the list, and show each with its best passage."""
    by_id = {one.hit.id: one for one in ranking}
    order = order_of(asked, recalled.understanding.mode, ranking)
    passages = passages_of(asked, recalled, [by_id[place.session_id].hit for place in order], conversations)
    return [
        shown(asked.request, by_id[place.session_id], passages[place.session_id], place)
        for place in order
        if place.session_id in passages
    ]


def order_of(asked: Asked, mode: SearchMode, ranking: Sequence[Scored]) -> list[Placed]:
    """Put the list in order, by score or diversified."""
    most = top_n(asked.request, mode)
    if not asked.request.diversify:
        return [Placed(one.hit.id, "score") for one in ranking[:most]]
    zone = zone_named(asked.request.time_zone)
    flat = [
        Ranked(one.hit.id, one.final.score, age_of(one.card.last_active, now=asked.now, zone=zone), one.card.topic)
        for one in ranking
    ]
    return diversify(flat, top_n=most)


def top_n(request: ConversationSearch, mode: SearchMode) -> int:
    """Say how many hits to return: a deep search gives more, unless the request says how many."""
    return request.top_n or (DEEP_TOP_N if mode == "deep" else TOP_N)


def passages_of(
    asked: Asked, recalled: Recalled, hits: Sequence[WordHit], conversations: Conversations
) -> Mapping[str, BestPassage]:
    """Cut the best passage of each hit, or remember it."""
    unread = {hit.id: hit for hit in hits if hit.id not in recalled.passages}
    sessions = conversations.sessions(asked.request.collection, list(unread)) if unread else {}
    for id_, session in sessions.items():
        recalled.passages[id_] = passage_of(unread[id_], session)
    return recalled.passages


def passage_of(hit: WordHit, session: Conversation) -> BestPassage:
    """Cut the best passage of a session; of one that was changed since it was found, and lacks the words, its name."""
    texts = [message.text for message in session.messages]
    found = None if hit.scored is None else best_passage(texts, hit.scored)
    if found is None:
        return BestPassage(Snippet(session.name or "", (), 0), None)
    return BestPassage(found, session.messages[found.place].message_id)


def shown(request: ConversationSearch, one: Scored, passage: BestPassage, place: Placed) -> ConversationHit:
    """Show a hit with everything that its score came from."""
    parts = asdict(one.card.parts) | {"recency": recency(one.days)}
    explanation: dict[str, Any] = {
        "formula": FORMULAS[request.scoring],
        "factors": dict(one.final.factors),
        "days": one.days,
        "rank": {"parts": parts, "rank": rank(one.card.parts, one.days)},
        "bm25": {} if one.hit.scored is None else bm25.explain(one.hit.scored),
        "synonym_weight": WEIGHT,
    }
    if request.scoring == "bounded":
        explanation |= {"a": request.rank_swing, "b": request.decay_swing, "cap": request.context_cap}
    card = one.card
    return ConversationHit(
        session_id=card.session_id,
        name=card.name,
        user_name=card.user_name,
        started_at=card.started_at,
        last_active=card.last_active,
        score=one.final.score,
        explanation=explanation,
        snippet=passage.snippet.text,
        marks=passage.snippet.marks,
        message_id=passage.message_id,
        placed_by=place.step,
        placed_for=place.reason,
    )
