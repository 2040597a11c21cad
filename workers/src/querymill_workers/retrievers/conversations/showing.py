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
from querymill_shared.contracts.sessions import place_in_file
from querymill_workers.retrievers.conversations.ports.caches import BestPassage, CachedSearch, SessionHit
from querymill_workers.retrievers.conversations.ports.passages import NearSession
from querymill_workers.retrievers.conversations.ports.sessions import (
    Conversation,
    ConversationMessage,
    Conversations,
)
from querymill_workers.retrievers.conversations.ranking import ScoredSession
from querymill_workers.retrievers.conversations.relevance import messages_within
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet, best_passage, opening
from querymill_workers.retrievers.conversations.rules.diversification import Placed, Ranked, age_of, diversify
from querymill_workers.retrievers.conversations.rules.joining import FORMULA as JOIN_FORMULA
from querymill_workers.retrievers.conversations.rules.joining import RRF_K
from querymill_workers.retrievers.conversations.rules.passages import SOFT_MAXIMUM
from querymill_workers.retrievers.conversations.rules.rank import rank, recency
from querymill_workers.retrievers.conversations.rules.scores import FORMULAS
from querymill_workers.retrievers.conversations.understanding import Question
from querymill_workers.text import bm25
from querymill_workers.text.rank_fusion import JoinedHit
from querymill_workers.text.thesaurus import WEIGHT
from querymill_workers.words.parts import part_of


def show_hits(
    question: Question, recalled: CachedSearch, ranking: Sequence[ScoredSession], conversations: Conversations
) -> list[ConversationHit]:
    """Choose the hits and build them in order, each with its best passage."""
    by_id = {candidate.hit.id: candidate for candidate in ranking}
    order = order_of(question, recalled.understanding.mode, ranking)
    chosen = [by_id[place.session_id] for place in order]
    passages = dict(find_passages(question, recalled, [each.hit for each in chosen if each.has_words], conversations))
    near = {each.hit.id: each for each in chosen if each.near and not each.has_words}
    # Only what was read from files has lines to jump to.
    from_files = [id_ for id_, each in near.items() if "source" in each.session.metadata]
    read = conversations.sessions(question.request.collection, from_files) if from_files else {}
    passages |= {id_: nearest_passage(each.near, read.get(id_)) for id_, each in near.items() if each.near}
    return [
        show_hit(question.request, by_id[place.session_id], passages[place.session_id], place)
        for place in order
        if place.session_id in passages
    ]


def order_of(question: Question, mode: SearchMode, ranking: Sequence[ScoredSession]) -> list[Placed]:
    """Order the hits by score, or diversified if the request asks for it."""
    limit = top_n(question.request, mode)
    if not question.request.diversify:
        return [
            Placed(candidate.hit.id, "age" if candidate.placed_for else "score", candidate.placed_for)
            for candidate in ranking[:limit]
        ]
    zone = zone_named(question.request.time_zone)
    rows = [
        Ranked(
            candidate.hit.id,
            candidate.score,
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
    question: Question, recalled: CachedSearch, hits: Sequence[SessionHit], conversations: Conversations
) -> Mapping[str, BestPassage]:
    """Return the best passages, cutting those that no earlier search has cut. Dropped sessions have none."""
    unread = {hit.id: hit for hit in hits if hit.id not in recalled.passages}
    sessions = conversations.sessions(question.request.collection, list(unread)) if unread else {}
    for id_, session in sessions.items():
        kept = messages_in_time(question, session) if id_ not in (recalled.relaxed or ()) else session.messages
        recalled.passages[id_] = cut_passage(unread[id_], session, kept)
    return recalled.passages


def nearest_passage(near: NearSession, session: Conversation | None = None) -> BestPassage:
    """Show the passage of a session that only vectors found. No word of it is marked."""
    passage = near.passage
    message = next((each for each in session.messages if each.key == passage.message), None) if session else None
    source, line = (None, None) if session is None or message is None else place_of(session, message)
    message_id = passage.message[1:] if passage.message.startswith("=") else None
    return BestPassage(opening(passage.text), message_id, passage.place, passage.first_at, source, line)


def messages_in_time(question: Question, session: Conversation) -> Sequence[ConversationMessage]:
    """Return the messages of the time that the question mentions, or all if it mentions none."""
    if question.timed is None:
        return session.messages
    return messages_within(session, question.timed.range)


def cut_passage(hit: SessionHit, session: Conversation, messages: Sequence[ConversationMessage]) -> BestPassage:
    """Cut the best passage of some messages of a session.

    If none of them has any of the words, show the beginning of the first one where only a part of the session was asked
    for, else the name of the session.
    """
    found = None if hit.scored is None else best_passage([message.text for message in messages], hit.scored)
    if found is not None:
        return passage_of(found, messages[found.place], session)
    if messages and (hit.scored is None or len(messages) < len(session.messages)):
        return passage_of(opening(messages[0].text), messages[0], session)
    return BestPassage(Snippet(session.name or "", (), 0), None)


def passage_of(snippet: Snippet, message: ConversationMessage, session: Conversation) -> BestPassage:
    """Say of a snippet which message of the session it is cut from, and when that was written."""
    source, line = place_of(session, message)
    place = session.messages.index(message)
    return BestPassage(snippet, message.message_id, place, message.created_at, source, line)


def place_of(session: Conversation, message: ConversationMessage) -> tuple[str | None, int | None]:
    """Return the file that a message was read from and its line there, if they are known."""
    return place_in_file({**session.metadata, **message.metadata})


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
        "weights": {"words": weights.words, "vectors": weights.vectors},
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
        "bm25": explain_relevance(candidate.hit),
        "synonym_weight": WEIGHT,
    }
    if request.scoring == "bounded":
        explanation |= {"a": request.rank_swing, "b": request.decay_swing, "cap": request.context_cap}
    if candidate.joined is not None:
        explanation |= {"joined": explain_join(candidate.joined, candidate)}
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
