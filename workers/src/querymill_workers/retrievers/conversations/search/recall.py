"""Find the candidates of a search: by words, by synonyms if these find little, by time if the question names one."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.conversations.search import SynonymsOf
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit, join_passages, score_messages
from querymill_workers.retrievers.conversations.rules.subject import simplify
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.rules.times.find import TimeRange
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion
from querymill_workers.text.thesaurus import TIMES, weighted
from querymill_workers.words.asked import NOTHING, Beside
from querymill_workers.words.ports import Words

#: A time that leaves fewer hits than this is relaxed.
FEW: Final = 3
#: The share of the Chinese words of a question that sessions in Chinese have.
KNOWN: Final = 0.5
#: Of a search, so many passages are put together. Whatever lies below adds next to nothing to the best sessions.
PASSAGES: Final = 400
#: How many times as many are read where these are of too few sessions.
GROWTH: Final = 8
#: No more are read, however few sessions they are of.
MAX_PASSAGES: Final = 25_600


def recall_candidates(question: ConversationQuestion, ports: ConversationPorts) -> CachedSearch:
    """Find the candidates of a question, or take them from the cache.

    *Decided*: a question that is nothing but a time asks for a recap, so every session of that time is a candidate,
    with equal relevance.

    Raises:
        Refused: Another version of the tokeniser built the collection's text index.
    """
    cached = ports.conversation_caches.searches.get(question.key)
    if cached is not None:
        return cached
    request, span, documents = question.request, question.span, ports.documents[KIND]
    in_time = None
    if span is not None:
        in_time = documents.ids(request.collection, request.filter, start=span.start, end=span.end)
    if in_time and question.is_recap:
        hits = tuple(SessionHit(id_, 1.0) for id_ in in_time)
        recalled = CachedSearch(question.text.understanding, "", hits, groups=in_time, is_recap=True)
    else:
        passing = documents.ids(request.collection, request.filter) if request.filter else None
        recalled = recall_by_words(question, passing, in_time, ports)
    ports.conversation_caches.searches.put(question.key, recalled)
    return recalled


def recall_by_words(
    question: ConversationQuestion,
    passing: Sequence[str] | None,
    in_time: Sequence[str] | None,
    ports: ConversationPorts,
) -> CachedSearch:
    """Find sessions by words: those of the time that the question mentions, if it does, else all that pass the filter.

    *Decided*: a time that leaves fewer than three hits is relaxed: sessions of other times follow below.
    """
    groups = passing if in_time is None else in_time
    synonyms = question.text.understanding.synonyms
    text, hits = search_words(question, synonyms, groups, ports)
    added = more_words(question, hits)
    if added and added != synonyms:
        synonyms = added
        text, hits = search_words(question, synonyms, groups, ports)
    understanding = question.text.understanding.model_copy(update={"synonyms": synonyms})
    if question.span is not None:
        hits = score_within(hits, question.span, question.request.collection, ports)
    if in_time is None or len(hits) >= FEW:
        return CachedSearch(understanding, text, tuple(hits), groups=groups)
    within = {hit.id for hit in hits}
    # By the same words, so that scores compare and no hit of the time is lost.
    _, anywhere = search_words(question, synonyms, passing, ports)
    others = [hit for hit in anywhere if hit.id not in within]
    relaxed = frozenset(hit.id for hit in others) if others else None
    return CachedSearch(understanding, text, (*hits, *others), relaxed, groups=passing if others else in_time)


def search_words(
    question: ConversationQuestion,
    synonyms: Sequence[SynonymsOf],
    groups: Sequence[str] | None,
    ports: ConversationPorts,
) -> tuple[str, list[SessionHit]]:
    """Return the text of a question with some synonyms, each with its weight, and the sessions that it finds."""
    added = [word for expansion in synonyms for word in expansion.synonyms]
    text = searchable([weighted(question.text.numbered, added)])
    beside = beside_of(question, synonyms)
    limit, wanted = question.candidates, min(question.candidates, question.limit)
    collection = question.request.collection
    return text, find_sessions(ports.words, collection, text, limit=limit, wanted=wanted, groups=groups, beside=beside)


def beside_of(question: ConversationQuestion, synonyms: Sequence[SynonymsOf]) -> dict[str, float]:
    """Return what is searched beside a question with some synonyms: what the earlier turns add to it."""
    times = TIMES if synonyms else 1
    added = question.before.beside.items()
    return {searchable([simplify(turn).text]): times * weight for turn, weight in added}


def more_words(question: ConversationQuestion, hits: Sequence[SessionHit]) -> tuple[SynonymsOf, ...]:
    """Return the synonyms to search with once more: if the words alone find less than a list full.

    *Decided*: so too if the question is in Chinese and the sessions are not, which lack more than half of its words,
    whatever its other words find; then with the English of its everyday words. A request that says whether it wants
    synonyms is obeyed.
    """
    if question.request.expansion is not None:
        return ()
    known = {term.term for hit in hits if hit.scored for term in hit.scored.terms}
    chinese = question.text.traits.chinese
    if len(chinese & known) < len(chinese) * KNOWN:
        return question.text.translations
    enough = question.text.understanding.synonyms or len(hits) >= question.limit
    return () if enough else question.text.synonyms


def find_sessions(
    words: Words,
    collection: str,
    text: str,
    *,
    limit: int,
    wanted: int,
    groups: Sequence[str] | None,
    beside: Beside = NOTHING,
) -> list[SessionHit]:
    """Return the best sessions, up to ``limit``, best first; at least ``wanted`` if so many have a word of the text.

    A session counts with its passages among the best 400 of the search. One that has none there counts with its best:
    no session is better by it than those above, so the head of the list does not depend on how many are wanted.
    """
    found: list[SessionHit] = []
    asked = PASSAGES
    while True:
        hits = words.search(collection, SPACE, text, limit=asked, groups=groups, beside=beside)
        found = join_passages(hits, found)
        if len(hits) < asked or asked >= MAX_PASSAGES or len(found) >= wanted:
            return found[:limit]
        asked *= GROWTH


def score_within(
    hits: Sequence[SessionHit], span: TimeRange, collection: str, ports: ConversationPorts
) -> list[SessionHit]:
    """Score the sessions again that have messages outside of a time, by those within it. Order all, best first.

    Sessions that have none of the words then are left out.
    """
    chosen = {"session_id": [hit.id for hit in hits]}
    documents = ports.documents[KIND]
    before = documents.ids(collection, chosen, end=span.start) if hits and span.start else []
    after = documents.ids(collection, chosen, start=span.end) if hits and span.end else []
    outside = sorted({*before, *after})
    read = ports.conversations.sessions(collection, outside) if outside else {}
    terms = {term.term: term for hit in hits if hit.scored for term in hit.scored.terms}
    again = [
        score_messages(hit, session.name, [message.text for message in session.within(span.start, span.end)], terms)
        if (session := read.get(hit.id))
        else hit
        for hit in hits
    ]
    return sorted((hit for hit in again if hit is not None), key=lambda hit: hit.order)
