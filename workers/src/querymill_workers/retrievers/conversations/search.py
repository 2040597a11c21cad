"""`conversations`: a question in, the sessions in which it was talked about out.

    question -> understand (when, filler, spelling, synonyms) -> candidates by BM25 ┐  kept for an hour
             -> sessions' rank parts ──────────────────────────────────────────────┤  kept for a day
             -> final score as of now -> diversify -> best passages -> hits <───────┘

A search is one step. Kept is only what does not depend on the time or on who asks; every key begins with the
collection and its generation, which is read anew for each search. Rules and formulas: ``domain/times.py``,
``query_understanding.py``, ``spelling.py``, ``synonyms.py``, ``conversation_scores.py``, ``diversification.py``,
``best_passage.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.conversations.search import (
    DEEP_TOP_N,
    TOP_N,
    ConversationHit,
    ConversationResult,
    ConversationSearch,
    SearchMode,
    SpellingCorrection,
    SynonymsOf,
    Understanding,
    UnderstoodTime,
    WhyNot,
    zone_named,
)
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.stages import Laps, stage, timing
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import BestPassage, ConversationCard, Recalled
from querymill_workers.retrievers.conversations.ports.sessions import SPACE, Conversation, ConversationHead
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet, best_passage
from querymill_workers.retrievers.conversations.rules.diversification import Placed, Ranked, age_of, diversify
from querymill_workers.retrievers.conversations.rules.query_understanding import (
    importance,
    intent_of,
    keywords,
    mode_of,
    simplify,
)
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency
from querymill_workers.retrievers.conversations.rules.scores import (
    FORMULAS,
    Bounds,
    FinalScore,
    Worth,
    context_of,
    final_score,
)
from querymill_workers.retrievers.conversations.rules.spelling import Correction, corrected, corrections, suspects
from querymill_workers.retrievers.conversations.rules.synonyms import WEIGHT, expand, topic_of, weighted
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.rules.times.find import Timed, find_time
from querymill_workers.text import bm25
from querymill_workers.text.words import words
from querymill_workers.words.ports import WordHit

#: How many sessions BM25 hands on to ranking.
CANDIDATES: Final[Mapping[SearchMode, int]] = {"normal": 50, "deep": 100}


class SearchNotes(Notes):
    """The result as far as the step knows it, and how long each phase of the step took, in milliseconds."""

    found: ConversationResult
    timing: dict[str, float]


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its session and its final score."""

    hit: WordHit
    card: ConversationCard
    days: float
    final: FinalScore


@dataclass(frozen=True, slots=True)
class Asked:
    """A request at its moment: when it is, what time it speaks of, and the state of the collection it is asked of."""

    request: ConversationSearch
    now: datetime
    timed: Timed | None
    generation: int

    @property
    def key(self) -> tuple[object, ...]:
        """Name what the candidates depend on, and nothing else."""
        request, timed = self.request, self.timed
        switches = (request.time_filter, request.expansion, request.spelling, request.simplification)
        return (request.collection, self.generation, request.query, *switches, timed and timed.range)


def step(claim: Claim, request: ConversationSearch, ports: ConversationPorts) -> Sequence[Bell]:
    """Search, and hand the hits in."""
    laps = Laps(ports)
    now = request.now or datetime.now(UTC)
    zone = zone_named(request.time_zone)
    timed = find_time(request.query, now=now, zone=zone) if request.time_filter else None
    asked = Asked(request, now, timed, ports.conversations.generation(request.collection))
    recalled = recall(asked, ports)
    laps.lap("recall")
    ranking = ranked(asked, recalled, ports)
    laps.lap("rank")
    hits = placed(asked, recalled, ranking, ports)
    reason = None if request.why_not is None else why_not(asked, request.why_not, recalled, ranking, ports)
    laps.lap("show")
    result = ConversationResult(
        job_id=claim.job_id,
        query=request.query,
        collection=request.collection,
        scoring=request.scoring,
        results=tuple(hits),
        total=len(ranking),
        complete=True,
        understanding=recalled.understanding,
        why_not=reason,
        usage=Usage().noted(),
    )
    notes = SearchNotes(found=result, timing=laps.ms)
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms))
    if picture is not None:
        conclude(picture, request, ports)
    return []


def conclude(picture: Picture, request: ConversationSearch, ports: Common) -> None:
    """Settle with what the search found, or with the reason why it could not."""
    one_step.conclude(picture, request, ENDING, ports)


def recall(asked: Asked, ports: ConversationPorts) -> Recalled:
    """Understand the question and find its candidates, or remember them.

    Raises:
        Refused: The words were made by another tokeniser.
    """
    kept = ports.conversation_caches.results.get(asked.key)
    if kept is not None:
        return kept
    understanding = understood(asked, ports)
    synonyms = [word for one in understanding.synonyms for word in one.synonyms]
    text = searchable([weighted(understanding.searched, synonyms)])
    hits = ports.words.search(
        asked.request.collection, SPACE, text, most=CANDIDATES[understanding.mode], groups=active(asked, ports)
    )
    found = Recalled(understanding, text, tuple(hits))
    ports.conversation_caches.results.put(asked.key, found)
    return found


def understood(asked: Asked, ports: ConversationPorts) -> Understanding:
    """Take the time out of the question, drop filler, mend its spelling, and find what else to search for."""
    request, timed = asked.request, asked.timed
    technical = ports.technical_keywords.of(request.query)
    worth = importance(request.query, technical=len(technical))
    mode = mode_of(worth)
    # A question of nothing but a time keeps its words: something must be searched for.
    text = timed.rest if timed is not None and words(timed.rest) else request.query
    simple = simplify(text) if request.simplification else None
    text = text if simple is None else simple.text
    mended = mendings(text, asked, ports) if request.spelling else []
    text = corrected(text, mended)
    wanted = mode == "deep" if request.expansion is None else request.expansion
    return Understanding(
        searched=text,
        intent=intent_of(request.query),
        importance=worth,
        mode=mode,
        keywords=tuple(keywords(text, terms_of(text, ports))),
        time=None if timed is None else UnderstoodTime(**asdict(timed.range), phrase=timed.phrase),
        corrections=tuple(SpellingCorrection(**asdict(one)) for one in mended),
        synonyms=tuple(SynonymsOf(**asdict(one)) for one in expand(text)) if wanted else (),
        dropped=() if simple is None else simple.dropped,
    )


def terms_of(text: str, ports: ConversationPorts) -> list[str]:
    """List the technical keywords of a text in the order in which it has them."""
    lower = text.lower()
    return sorted(ports.technical_keywords.of(text), key=lambda term: (lower.find(term), -len(term)))


def mendings(text: str, asked: Asked, ports: ConversationPorts) -> list[Correction]:
    """Correct the words that the collection does not know and has something near to."""
    suspected = suspects(text)
    if not suspected:
        return []
    near = ports.words.near(asked.request.collection, SPACE, sorted(set(suspected.values())))
    return corrections(suspected, near=near)


def active(asked: Asked, ports: ConversationPorts) -> Sequence[str] | None:
    """List the sessions that the time in the question lets through; None lets all through."""
    if asked.timed is None:
        return None
    span = asked.timed.range
    return ports.conversations.active_between(asked.request.collection, span.start, span.end)


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


def placed(
    asked: Asked, recalled: Recalled, ranking: Sequence[Scored], ports: ConversationPorts
) -> list[ConversationHit]:
    """Choose the hits, in the order of the list, and show each with its best passage."""
    by_id = {one.hit.id: one for one in ranking}
    order = order_of(asked, recalled.understanding.mode, ranking)
    passages = passages_of(asked, recalled, [by_id[place.session_id].hit for place in order], ports)
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
    asked: Asked, recalled: Recalled, hits: Sequence[WordHit], ports: ConversationPorts
) -> Mapping[str, BestPassage]:
    """Cut the best passage of each hit, or remember it."""
    unread = {hit.id: hit for hit in hits if hit.id not in recalled.passages}
    sessions = ports.conversations.sessions(asked.request.collection, list(unread)) if unread else {}
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


def why_not(
    asked: Asked, wanted: str, recalled: Recalled, ranking: Sequence[Scored], ports: ConversationPorts
) -> WhyNot:
    """Name the first gate that a session did not pass."""
    collection = asked.request.collection
    if wanted not in ports.conversations.heads(collection, [wanted]):
        return WhyNot(session_id=wanted, gate="collection", reason="the collection has no such session")
    let_through = active(asked, ports)
    if let_through is not None and wanted not in let_through:
        return WhyNot(session_id=wanted, gate="time", reason="none of its messages is from the time asked for")
    if wanted in {one.hit.id for one in ranking}:
        return why_not_placed(asked, wanted, recalled, ranking)
    own = ports.words.search(collection, SPACE, recalled.asked, most=1, groups=[wanted])
    if not own:
        return WhyNot(session_id=wanted, gate="words", reason="it has none of the words that were searched")
    least = recalled.candidates[-1].score if recalled.candidates else 0.0
    reason = f"its BM25 is {own[0].score:.4f}; the last of the {len(recalled.candidates)} candidates has {least:.4f}"
    return WhyNot(session_id=wanted, gate="candidates", reason=reason)


def why_not_placed(asked: Asked, wanted: str, recalled: Recalled, ranking: Sequence[Scored]) -> WhyNot:
    """Say where a candidate stands, and whether its score or its likeness to others kept it out."""
    mode = recalled.understanding.mode
    most = top_n(asked.request, mode)
    place = next(number for number, one in enumerate(ranking, start=1) if one.hit.id == wanted)
    order = [one.session_id for one in order_of(asked, mode, ranking)]
    if wanted in order:
        return WhyNot(session_id=wanted, gate=None, reason=f"it is hit {order.index(wanted) + 1}")
    reason = f"place {place} of {len(ranking)} by score ({ranking[place - 1].final.score:.4f}), {most} are returned"
    return WhyNot(session_id=wanted, gate="diversification" if place <= most else "score", reason=reason)


def to_result(_: ConversationSearch, picture: Picture, notes: SearchNotes) -> ConversationResult:
    """Add to the result that the step noted how the step went."""
    took = timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()}
    stages = tuple(stage(search) for search in picture.steps)
    return notes.found.model_copy(update={"stages": stages, "timing": took})


#: How a search ends.
ENDING: Final = Ending(SearchNotes, to_result)
