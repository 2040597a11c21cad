"""The sessions whose passages have words of a text, and how well the messages of a time match."""

from collections.abc import Sequence
from typing import Final

from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit, join_passages, score_messages
from querymill_workers.retrievers.conversations.rules.times.find import TimeRange
from querymill_workers.words.ports import Words

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
    found: list[SessionHit] = []
    asked = PASSAGES
    while True:
        hits = words.search(collection, SPACE, text, limit=asked, groups=groups)
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
