"""What the candidates of a search are worth now, to who asks."""

from collections.abc import Sequence
from dataclasses import dataclass

from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import ConversationCard, Recalled
from querymill_workers.retrievers.conversations.ports.sessions import ConversationHead
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency
from querymill_workers.retrievers.conversations.rules.scores import (
    Bounds,
    FinalScore,
    Worth,
    context_of,
    final_score,
)
from querymill_workers.retrievers.conversations.rules.synonyms import topic_of
from querymill_workers.retrievers.conversations.understanding import Asked
from querymill_workers.words.ports import WordHit


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its session and its final score."""

    hit: WordHit
    card: ConversationCard
    days: float
    final: FinalScore


def ranked(asked: Asked, recalled: Recalled, ports: ConversationPorts) -> list[Scored]:
    """Score the candidates as of now, best first, ties on the id; a session that is gone is no candidate."""
    cards = cards_of(asked, [hit.id for hit in recalled.candidates], ports)
    best = max((hit.score for hit in recalled.candidates if hit.id in cards), default=0.0)
    if best <= 0:
        return []
    scored = [score(asked, hit, cards[hit.id], best) for hit in recalled.candidates if hit.id in cards]
    return sorted(scored, key=lambda one: (-one.final.score, one.hit.id))


def score(asked: Asked, hit: WordHit, card: ConversationCard, best: float) -> Scored:
    """Weigh one candidate by what it is worth now, to who asks."""
    request = asked.request
    days = age_days(card.last_active, asked.now)
    context = context_of(card.session_id, current=request.current_session, recent=frozenset(request.recent_sessions))
    worth = Worth(hit.score / best, rank(card.parts, days), recency(days), context)
    bounds = Bounds(request.rank_swing, request.decay_swing, request.context_cap)
    return Scored(hit, card, days, final_score(worth, scoring=request.scoring, bounds=bounds))


def cards_of(asked: Asked, session_ids: Sequence[str], ports: ConversationPorts) -> dict[str, ConversationCard]:
    """Fetch what ranking needs of sessions, or remember it; a session that is gone has no card."""
    ranks, collection = ports.conversation_caches.ranks, asked.request.collection
    kept = {id_: ranks.get((collection, asked.generation, id_)) for id_ in session_ids}
    unknown = [id_ for id_, card in kept.items() if card is None]
    heads = ports.conversations.heads(collection, unknown) if unknown else {}
    fresh = {id_: card_of(head) for id_, head in heads.items()}
    for id_, card in fresh.items():
        ranks.put((collection, asked.generation, id_), card)
    return fresh | {id_: card for id_, card in kept.items() if card is not None}


def card_of(head: ConversationHead) -> ConversationCard:
    """Note what ranking needs of a session; its topic is what its name or its first message speaks of."""
    return ConversationCard(
        head.session_id,
        head.name,
        head.user_name,
        head.started_at,
        head.last_active,
        head.parts,
        topic_of(head.name or "", head.opening),
    )
