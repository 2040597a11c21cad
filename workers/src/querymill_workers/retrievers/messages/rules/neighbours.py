"""The words of a message and of its neighbours, as one entry of a text index.

A chat message is short, and what it is about often stands in the message before or after it. The entry of a message
counts its own words in full and those of its neighbours in part:

    two speakers or fewer   two messages before and two after                            0.3
    more speakers           the same, if they are by the same speaker                    0.5
                            the same, if they are not                                    0.25
                            the last message of a speaker whom the message addresses     0.5

An index counts in whole numbers, so all counts are in twentieths. BM25 with k1 × 20 then gives the scores that it would
give for the fractions. For each neighbour with an id, the entry also holds a *link*, a term that no text yields. Its
count is the neighbour's share, so the words of one neighbour can be taken out again (`without`).
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from querymill_workers.retrievers.messages.rules.sessions import NEIGHBOURS, SessionMessage, vector_id
from querymill_workers.text import bm25
from querymill_workers.text.bm25 import QueryTerm, Scored, Tuning
from querymill_workers.words.ports import WordHit, WordUnit

#: Counts of an entry for one word of the message itself.
OWN: Final = 20
#: Shares of neighbours, in twentieths.
OF_TWO, SAME_SPEAKER, OTHER_SPEAKER, ADDRESSED = 6, 10, 5, 10
#: Messages are short and of one kind, so their length says little (`tests/quality/messages.md`).
TUNING: Final = Tuning(k1=bm25.K1 * OWN, b=0.3)
#: A message addresses a speaker if it begins with the name, within so many characters, and one of these marks.
NAME_CHARS: Final = 60
_MARKS: Final = ":,：，"


def speaker_of(message: SessionMessage) -> str:
    """Return who speaks: the message's ``user_name``, else its role."""
    return str(message.metadata.get("user_name") or message.role or "")


def addressed_by(text: str) -> str | None:
    """Return the name that a text begins with, in lower case: "ada" of "@Ada: look here"."""
    head = text[:NAME_CHARS]
    ends = [place for mark in _MARKS if (place := head.find(mark)) > 0]
    return head[: min(ends)].strip().removeprefix("@").lower() if ends else None


def shares_around(messages: Sequence[SessionMessage]) -> list[dict[int, int]]:
    """Return for each message the places of its neighbours, with their shares in twentieths.

    Ada asks, Bob and Cy talk, and then "Ada: here" by Bob counts Ada's question by 10, Bob's message by 10, Cy's by 5.
    """
    speakers = [speaker_of(message) for message in messages]
    many = len(set(speakers)) > 2  # two speakers
    known = {speaker.lower() for speaker in speakers}
    last: dict[str, int] = {}
    found = []
    for place, message in enumerate(messages):
        near = [
            *range(max(place - NEIGHBOURS, 0), place),
            *range(place + 1, min(place + 1 + NEIGHBOURS, len(messages))),
        ]
        if many:
            shares = {at: SAME_SPEAKER if speakers[at] == speakers[place] else OTHER_SPEAKER for at in near}
            name = addressed_by(message.text)
            if name in known and name in last and name != speakers[place].lower():
                shares[last[name]] = ADDRESSED
        else:
            shares = dict.fromkeys(near, OF_TWO)
        last[speakers[place].lower()] = place
        found.append(shares)
    return found


def link_to(message_id: str) -> str:
    """Return the term by which entries are found that count the words of a message."""
    return "@" + hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def entries_of(
    session_id: str,
    messages: Sequence[SessionMessage],
    words: Callable[[str], Sequence[str]],
    *,
    changed: Collection[str] | None = None,
) -> list[WordUnit]:
    """Return the entries of a session's messages, by the ids of their texts. Empty messages have none.

    With ``changed``, the ids of texts that are new or changed, only the entries that count one of them are returned.
    """
    written = [message for message in messages if message.text.strip()]
    ids = [vector_id(session_id, message.key, "message") for message in written]
    shares = shares_around(written)
    touched = range(len(written)) if changed is None else _touching(ids, shares, changed)
    counted: dict[int, Counter[str]] = {}

    def counts_of(place: int) -> Counter[str]:
        if place not in counted:
            counted[place] = Counter(words(written[place].text))
        return counted[place]

    entries = []
    for place in touched:
        counts: Counter[str] = Counter({term: OWN * times for term, times in counts_of(place).items()})
        for at, share in shares[place].items():
            counts.update({term: share * times for term, times in counts_of(at).items()})
            message_id = written[at].message_id
            if message_id is not None:
                counts[link_to(message_id)] += share
        entries.append(WordUnit(ids[place], "", session_id, counts))
    return entries


def _touching(ids: Sequence[str], shares: Sequence[Mapping[int, int]], changed: Collection[str]) -> list[int]:
    return [
        place for place, near in enumerate(shares) if ids[place] in changed or any(ids[at] in changed for at in near)
    ]


def changed_around(
    session_id: str, messages: Sequence[SessionMessage], changed: Collection[str]
) -> Collection[str] | None:
    """Return the texts whose neighbours are to be indexed again, or None if that is all of a session.

    A new speaker can turn a conversation of two into one of more, which changes every share.
    """
    written = [message for message in messages if message.text.strip()]
    speakers = {speaker_of(message) for message in written}
    before = {
        speaker_of(message) for message in written if vector_id(session_id, message.key, "message") not in changed
    }
    return None if (len(speakers) > 2) != (len(before) > 2) else changed  # two speakers


def share_of(hit: WordHit, link: str) -> int:
    """Return how much an entry counts the words of a message, in twentieths; 0 if it does not."""
    terms = () if hit.scored is None else hit.scored.terms
    return next((term.tf for term in terms if term.term == link), 0)


def without(hit: WordHit, link: str, left_out: Scored | None) -> WordHit | None:
    """Take the words of a message out of an entry that counts them, and score it again; None if no word is left.

    Args:
        hit: An entry, found with its link to the message.
        link: The link to the message.
        left_out: The message's own words of the query, as the index of messages alone scored them; None if it has none.
    """
    if hit.scored is None:
        return hit
    share = share_of(hit, link)
    own = {term.term: term.tf for term in left_out.terms} if left_out is not None else {}
    counts = {term.term: max(term.tf - share * own.get(term.term, 0), 0) for term in hit.scored.terms if term.times}
    length = hit.scored.length - share * (1 + (left_out.length if left_out is not None else 0))
    terms = [QueryTerm(term.term, term.times, term.df) for term in hit.scored.terms if term.times]
    scored = bm25.score(counts, max(length, 0), terms=terms, statistics=hit.scored.statistics, k1=TUNING.k1, b=TUNING.b)
    return replace(hit, score=scored.score, scored=scored) if scored.score > 0 else None


def merged(near: Sequence[WordHit], own: Sequence[WordHit]) -> list[WordHit]:
    """Add to the entries with neighbours, as the last, those messages that were found by their own words alone."""
    known = {hit.id for hit in near}
    return [*near, *(replace(hit, score=0.0) for hit in own if hit.id not in known)]
