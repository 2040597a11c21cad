"""The best passage of a session: a snippet of its best message, with the matched words marked."""

import math
from collections import Counter
from collections.abc import Sequence, Set
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.text import bm25
from querymill_workers.text.bm25 import QueryTerm, Scored
from querymill_workers.text.words import places, plain, words

#: Length of a snippet in characters.
SNIPPET_LENGTH: Final = 240
#: Characters shown before the first matched word.
LEAD: Final = 40


@value
class Snippet:
    """A piece of the message at ``place`` (from 0); ``marks`` are the matched words in it, as (start, end)."""

    text: str
    marks: tuple[tuple[int, int], ...]
    place: int


def best_passage(messages: Sequence[str], scored: Scored) -> Snippet | None:
    """Return a snippet of the message with the highest BM25, or None if no message has any of the words.

    The statistics are those that scored the session. Of messages with equal scores the first is chosen.

    Args:
        messages: The texts of the session, in order.
        scored: The terms and statistics of the session's score.
    """
    terms = [QueryTerm(term.term, term.times, term.df) for term in scored.terms]
    best, place = 0.0, None
    for bound, number in _by_bound(messages, scored):
        if bound < best:
            break  # all further bounds are lower still
        counts = Counter(words(searchable([messages[number]])))
        worth = bm25.score(counts, counts.total(), terms=terms, statistics=scored.statistics).score
        if worth > best or (worth == best and place is not None and number < place):
            best, place = worth, number
    return None if place is None else snippet(messages[place], {term.term for term in terms}, place=place)


def shown_snippet(messages: Sequence[str], scored: Scored | None, *, of: int) -> Snippet | None:
    """Return the snippet to show of some of a session's messages, or None if its name is to be shown.

    If none of them has any of the words, it is the beginning of the first where only a part of the session was asked
    for.

    Args:
        messages: The texts that were asked for, in order.
        scored: The terms and statistics of the session's score, None if no words were searched.
        of: How many messages the session has.
    """
    found = None if scored is None else best_passage(messages, scored)
    if found is None and messages and (scored is None or len(messages) < of):
        return opening(messages[0])
    return found


def opening(text: str) -> Snippet:
    """Return the beginning of a message, without marks."""
    return Snippet(text[:SNIPPET_LENGTH] + ("…" if len(text) > SNIPPET_LENGTH else ""), (), 0)


def _by_bound(messages: Sequence[str], scored: Scored) -> list[tuple[float, int]]:
    """Order messages by an upper bound of their score: the score they would have without any other words.

    Counting words is expensive. Counting the beginnings of the terms is cheap and misses none, because stemming
    changes at most the last letter.
    """
    weights = {_beginning(term.term): 0.0 for term in scored.terms}
    for term in scored.terms:
        weights[_beginning(term.term)] += term.times * term.idf
    bounds = []
    for number, text in enumerate(messages):
        letters = plain(text)
        counts = {begins: letters.count(begins) for begins in weights}
        parts = (weights[begins] * bm25.saturation(tf, 0, 1) for begins, tf in counts.items() if tf)
        bounds.append((math.fsum(parts), number))
    return sorted(((bound, number) for bound, number in bounds if bound > 0), key=lambda row: (-row[0], row[1]))


def _beginning(term: str) -> str:
    return term[: max(len(term) - 1, 2)] if term.isascii() else term


def snippet(text: str, wanted: Set[str], *, place: int) -> Snippet:
    """Cut a text where most of the wanted words are close together, and mark them."""
    marks = _merged([(start, end) for start, end, found in places(searchable([text])) if not wanted.isdisjoint(found)])
    first = _densest(marks)
    start = _word_start(text, max(marks[first][0] - LEAD, 0)) if marks else 0
    end = min(start + SNIPPET_LENGTH, len(text))
    shown = tuple((left - start, min(right, end) - start) for left, right in marks if start <= left < end)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before)
    return Snippet(f"{before}{text[start:end]}{after}", tuple((a + shift, b + shift) for a, b in shown), place)


def _densest(marks: Sequence[tuple[int, int]]) -> int:
    """Return the index of the mark from which most marks fit into one snippet; of equal ones, the first."""
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(marks):
        while last < len(marks) and marks[last][1] <= start + SNIPPET_LENGTH - LEAD:
            last += 1
        if last - first > most:
            best, most = first, last - first
    return best


def _word_start(text: str, near: int) -> int:
    """Move a cut to the character after the next space, if there is one nearby."""
    if near == 0 or text[near - 1].isspace():
        return near
    blank = next((place for place in range(near, min(near + LEAD // 2, len(text))) if text[place].isspace()), None)
    return near if blank is None else blank + 1


def _merged(marks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join marks that overlap, as the character pairs of a Chinese word do."""
    joined: list[tuple[int, int]] = []
    for start, end in marks:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
