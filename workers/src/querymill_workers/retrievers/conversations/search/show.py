"""Build the hits that a search returns, with every number that their scores are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from querymill_shared.contracts.conversations.search import ConversationHit, ConversationSearch
from querymill_workers.retrievers.conversations.ports.caches import BestPassage
from querymill_workers.retrievers.conversations.rules.joining import FORMULA as JOIN_FORMULA
from querymill_workers.retrievers.conversations.rules.joining import RRF_K
from querymill_workers.retrievers.conversations.rules.passages import SOFT_MAXIMUM
from querymill_workers.retrievers.conversations.rules.scores import FORMULAS
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.search.choose import ChosenSession
from querymill_workers.retrievers.conversations.search.score import ScoredSession
from querymill_workers.text import bm25
from querymill_workers.text.rank_fusion import JoinedHit
from querymill_workers.text.thesaurus import WEIGHT
from querymill_workers.vectors.rules.weights import explain_weight
from querymill_workers.words.parts import part_of


def show_hits(
    request: ConversationSearch, chosen: Sequence[ChosenSession], passages: Mapping[str, BestPassage]
) -> list[ConversationHit]:
    """Build the hits in order. Sessions without a passage were dropped since, and are left out."""
    return [
        show_hit(request, each, passages[each.candidate.hit.id]) for each in chosen if each.candidate.hit.id in passages
    ]


def show_hit(request: ConversationSearch, chosen: ChosenSession, passage: BestPassage) -> ConversationHit:
    """Build a hit with every number that its score is made of."""
    candidate, placed = chosen.candidate, chosen.placed
    session = candidate.session
    joined = None if candidate.joined is None else explain_join(candidate.joined, candidate)
    relevance = explain_relevance(candidate.hit)
    parts = asdict(session.parts) | {"recency": candidate.worth.decay}
    explanation: dict[str, Any] = {
        "formula": FORMULAS[request.scoring],
        "factors": dict(candidate.final.factors),
        "days": candidate.days,
        "rank": {"parts": parts, "rank": candidate.worth.rank},
        "bm25": relevance,
        "synonym_weight": WEIGHT,
    }
    if request.scoring == "bounded":
        explanation |= {"a": request.rank_swing, "b": request.decay_swing, "cap": request.context_cap}
    if joined is not None:
        explanation |= {"joined": joined}
    return ConversationHit(
        session_id=session.session_id,
        name=session.name,
        user_name=session.user_name,
        started_at=session.started_at,
        last_active=session.last_active,
        score=candidate.score,
        explanation=explanation,
        snippet=passage.snippet.text,
        marks=passage.snippet.marks,
        message_id=passage.message_id,
        message_number=None if passage.place is None else passage.place + 1,
        message_at=passage.created_at,
        placed_by=placed.step,
        placed_for=placed.reason,
        metadata=dict(session.metadata) if request.shows_metadata else None,
        source=passage.source,
        line=passage.line,
    )


def explain_relevance(hit: SessionHit) -> dict[str, Any]:
    """Return all that the relevance of a session is computed from: its best passage, and what others add to it."""
    explained = [bm25.explain(passage.scored) for passage in hit.passages[:1] if passage.scored is not None]
    if not explained or len(hit.passages) == 1:
        return explained[0] if explained else {}
    return explained[0] | {
        "best": hit.passages[0].score,
        "passages": [{"passage": part_of(passage.id)[1], "score": passage.score} for passage in hit.passages],
        "together": SOFT_MAXIMUM,
        "score": hit.score,
    }


def explain_join(joined: JoinedHit[str], candidate: ScoredSession) -> dict[str, Any]:
    """Return all that the score by rank is computed from, and the nearest passage, if vectors found the session."""
    weights = candidate.weights
    explained: dict[str, Any] = {
        "formula": JOIN_FORMULA,
        "k": RRF_K,
        "weights": {"words": weights.words, "vectors": weights.vectors.weight},
        **explain_weight(weights.vectors),
        "entry_words": weights.entry_words,
        "ranks": dict(joined.ranks),
        "score": joined.score,
    }
    if candidate.has_words:
        explained |= {"words": candidate.final.score}
    if candidate.near is not None:
        passage = candidate.near.passage
        explained |= {"cosine": candidate.near.cosine, "passage": passage.number, "message_number": passage.place + 1}
    return explained
