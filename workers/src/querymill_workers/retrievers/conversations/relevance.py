"""How well sessions match: their passages by BM25, put together by the soft maximum of ``rules/passages.py``."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from querymill_workers.retrievers.conversations.ports.caches import SessionHit
from querymill_workers.retrievers.conversations.ports.sessions import (
    SPACE,
    Conversation,
    ConversationMessage,
    Conversations,
)
from querymill_workers.retrievers.conversations.rules.passages import packed, soft_maximum
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.rules.times.find import TimeRange
from querymill_workers.text import bm25
from querymill_workers.text.words import words as words_of
from querymill_workers.words.parts import part_id, part_of
from querymill_workers.words.ports import WordHit, Words

#: Of a search, so many passages are put together. Whatever lies below adds next to nothing to the best sessions.
PASSAGES: Final = 400
#: How many times as many are read where these are of too few sessions.
GROWTH: Final = 8
#: No more are read, however few sessions they are of.
MAX_PASSAGES: Final = 25_600


def find_sessions(
    words: Words, collection: str, text: str, *, limit: int, wanted: int, groups: Sequence[str] | None
) -> list[SessionHit]:
    """Return the best sessions, up to ``limit``, best first; at least ``wanted`` if so many have a word of the text.

    A session counts with its passages among the best 400 of the search. One that has none there counts with its best:
    no session is better by it than those above, so the head of the list does not depend on how many are wanted.
    """
    hits = words.search(collection, SPACE, text, limit=PASSAGES, groups=groups)
    found = joined(hits)
    asked = PASSAGES
    while len(hits) == asked < MAX_PASSAGES and len(found) < wanted:
        asked *= GROWTH
        hits = words.search(collection, SPACE, text, limit=asked, groups=groups)
        known = {hit.id for hit in found}
        below = [
            SessionHit(hit.id, best.score, best.scored, (best,)) for hit in joined(hits) for best in hit.passages[:1]
        ]
        found += sorted((hit for hit in below if hit.id not in known), key=_order)
    return found[:limit]


def joined(hits: Iterable[WordHit]) -> list[SessionHit]:
    """Put the passages of each session together, and order the sessions, best first."""
    passages: defaultdict[str, list[WordHit]] = defaultdict(list)
    for hit in hits:
        passages[part_of(hit.id)[0]].append(hit)
    return sorted((_joined(session_id, of_one) for session_id, of_one in passages.items()), key=_order)


def _joined(session_id: str, passages: Sequence[WordHit]) -> SessionHit:
    best = sorted(passages, key=lambda hit: (-hit.score, part_of(hit.id)[1]))
    score = soft_maximum(hit.score for hit in best)
    together = _together(score, [hit.scored for hit in best if hit.scored])
    # What the others were scored from would fill the cache.
    return SessionHit(session_id, score, together, (best[0], *(WordHit(hit.id, hit.score) for hit in best[1:])))


def _together(score: float, passages: Sequence[bm25.Scored]) -> bm25.Scored | None:
    """Tell which terms the passages of a session have, each with its best score."""
    if not passages:
        return None
    terms = {term.term: term for scored in reversed(passages) for term in scored.terms}
    length = sum(scored.length for scored in passages)
    return bm25.Scored(score, length, passages[0].statistics, tuple(terms.values()))


def _order(hit: SessionHit) -> tuple[float, str]:
    return -hit.score, hit.id


def scored_within(
    hits: Sequence[SessionHit], span: TimeRange, collection: str, conversations: Conversations
) -> list[SessionHit]:
    """Score the sessions again that have messages outside of a time, by those within it. Order all, best first.

    Sessions that have none of the words then are left out. The statistics are those of the whole index.
    """
    ids = [hit.id for hit in hits]
    outside = sessions_beyond(ids, span, collection, conversations)
    read = conversations.sessions(collection, sorted(outside)) if outside else {}
    terms = {term.term: term for hit in hits if hit.scored for term in hit.scored.terms}
    again = [_again(hit, read[hit.id], terms, span) if hit.id in read else hit for hit in hits]
    return sorted((hit for hit in again if hit is not None), key=_order)


def sessions_beyond(ids: Sequence[str], span: TimeRange, collection: str, conversations: Conversations) -> set[str]:
    """Return the sessions that have messages outside of a time."""
    if not ids:
        return set()
    chosen = {"session_id": list(ids)}
    before = [] if span.start is None else conversations.passing(collection, chosen, end=span.start)
    after = [] if span.end is None else conversations.passing(collection, chosen, start=span.end)
    return {*before, *after}


def messages_within(session: Conversation, span: TimeRange) -> list[ConversationMessage]:
    """Return the messages from a time."""
    return [
        message
        for message in session.messages
        if (span.start is None or span.start <= message.created_at)
        and (span.end is None or message.created_at < span.end)
    ]


def _again(
    hit: SessionHit, session: Conversation, terms: Mapping[str, bm25.TermScore], span: TimeRange
) -> SessionHit | None:
    if hit.scored is None:
        return hit
    passages = packed([message.text for message in messages_within(session, span)])
    if session.name:
        passages[0].insert(0, session.name)
    asked = [bm25.QueryTerm(term.term, term.times, term.df) for term in terms.values()]
    found = []
    for number, texts in enumerate(passages):
        counts = Counter(words_of(searchable(texts)))
        scored = bm25.score(counts, counts.total(), terms=asked, statistics=hit.scored.statistics)
        if scored.terms:
            found.append(WordHit(part_id(hit.id, number), scored.score, scored))
    return _joined(hit.id, found) if found else None
