"""Find the candidates of a search: by words, by synonyms if these find little, by time if the question names one."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.conversations.search import SearchMode, Understanding
from querymill_shared.values import frozen
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch, SessionHit
from querymill_workers.retrievers.conversations.relevance import find_sessions, scored_within
from querymill_workers.retrievers.conversations.rules.numbered_names import with_numbers
from querymill_workers.retrievers.conversations.rules.query_understanding import asks_for_recap
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.showing import top_n
from querymill_workers.retrievers.conversations.understanding import (
    Question,
    sessions_in_time,
    sessions_passing,
    synonyms_of,
    translations_of,
    understand,
)
from querymill_workers.text.languages import is_han
from querymill_workers.text.thesaurus import weighted
from querymill_workers.text.words import words

#: How many sessions are passed to ranking.
CANDIDATES: Final[Mapping[SearchMode, int]] = {"normal": 50, "deep": 100}
#: A time that leaves fewer hits than this is relaxed.
FEW: Final = 3
#: The share of the Chinese words of a question that sessions in Chinese have.
KNOWN: Final = 0.5


@frozen
class _Found:
    """The text that was searched, with synonyms and weights, and what it found."""

    understanding: Understanding
    text: str
    hits: Sequence[SessionHit]


def recall(question: Question, ports: ConversationPorts) -> CachedSearch:
    """Understand the question and find its candidates, or take them from the cache.

    *Decided*: a question that is nothing but a time asks for a recap, so every session of that time is a candidate,
    with equal relevance. A time that leaves fewer than three hits is relaxed: sessions of other times follow below.

    Raises:
        Refused: Another version of the tokeniser built the collection's text index.
    """
    cached = ports.conversation_caches.searches.get(question.key)
    if cached is not None:
        return cached
    understanding, in_time = understand(question, ports), sessions_in_time(question, ports.conversations)
    if in_time and question.timed is not None and asks_for_recap(question.timed.rest):
        hits = tuple(SessionHit(id_, 1.0) for id_ in in_time)
        recalled = CachedSearch(understanding, "", hits, groups=in_time, is_recap=True)
    else:
        recalled = _by_words(question, understanding, in_time, ports)
    ports.conversation_caches.searches.put(question.key, recalled)
    return recalled


def _by_words(
    question: Question, understanding: Understanding, in_time: Sequence[str] | None, ports: ConversationPorts
) -> CachedSearch:
    passing = sessions_passing(question, ports.conversations)
    groups = passing if in_time is None else in_time
    found = _search(question, understanding, groups, ports)
    hits = found.hits
    if question.timed is not None:
        hits = scored_within(hits, question.timed.range, question.request.collection, ports.conversations)
    if in_time is None or len(hits) >= FEW:
        return CachedSearch(found.understanding, found.text, tuple(hits), groups=groups)
    within = {hit.id for hit in hits}
    # By the same words, so that scores compare and no hit of the time is lost.
    anywhere = _search_once(question, found.understanding, passing, ports)
    others = [hit for hit in anywhere.hits if hit.id not in within]
    relaxed = frozenset(hit.id for hit in others) if others else None
    groups = passing if others else in_time
    return CachedSearch(found.understanding, found.text, (*hits, *others), relaxed, groups=groups)


def _search(
    question: Question, understanding: Understanding, groups: Sequence[str] | None, ports: ConversationPorts
) -> _Found:
    """Search by words, and once more with synonyms if the words find less than a list full.

    *Decided*: so too if the question is in a script that the sessions are not in, whatever its other words find; then
    with the English of its everyday words. A request that says whether it wants synonyms is obeyed.
    """
    found = _search_once(question, understanding, groups, ports)
    if question.request.expansion is not None:
        return found
    foreign = is_foreign(understanding.searched, found.hits)
    enough = understanding.synonyms or len(found.hits) >= top_n(question.request, understanding.mode)
    if enough and not foreign:
        return found
    added_by = translations_of if foreign else synonyms_of
    expanded = added_by(understanding.searched, ports.thesauri["conversations"])
    if not expanded or expanded == understanding.synonyms:
        return found
    return _search_once(question, understanding.model_copy(update={"synonyms": expanded}), groups, ports)


def is_foreign(text: str, hits: Sequence[SessionHit]) -> bool:
    """Return whether a question is in Chinese and its sessions are not: they lack more than half of its words."""
    asked = {word for word in words(searchable([text])) if is_han(word)}
    known = {term.term for hit in hits if hit.scored for term in hit.scored.terms}
    return len(asked & known) < len(asked) * KNOWN


def _search_once(
    question: Question, understanding: Understanding, groups: Sequence[str] | None, ports: ConversationPorts
) -> _Found:
    synonyms = [word for expansion in understanding.synonyms for word in expansion.synonyms]
    text = searchable([weighted(with_numbers(understanding.searched), synonyms)])
    limit = CANDIDATES[understanding.mode]
    wanted = min(limit, top_n(question.request, understanding.mode))
    hits = find_sessions(ports.words, question.request.collection, text, limit=limit, wanted=wanted, groups=groups)
    return _Found(understanding, text, hits)
