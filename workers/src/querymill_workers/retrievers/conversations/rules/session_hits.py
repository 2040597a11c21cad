"""Sessions found by their passages: what the passages of a session score together, by a soft maximum."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.passages import packed, soft_maximum
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.text import bm25
from querymill_workers.text.words import words
from querymill_workers.words.parts import part_id, part_of
from querymill_workers.words.ports import WordHit


@value
class SessionHit(WordHit):
    """A session that has words of the query: ``scored`` has the terms of all its ``passages``, the best first."""

    passages: tuple[WordHit, ...] = ()

    @property
    def best_score(self) -> float:
        """The score of its best passage."""
        return self.passages[0].score if self.passages else self.score

    @property
    def order(self) -> tuple[float, str]:
        """What sessions are ordered by, best first, ties by id."""
        return -self.score, self.id


def join_passages(hits: Iterable[WordHit], found: Sequence[SessionHit] = ()) -> list[SessionHit]:
    """Put the passages of each session together, and order the sessions, best first.

    A session that is not among those that better passages ``found`` comes below them, and counts with its best passage.
    """
    passages: defaultdict[str, list[WordHit]] = defaultdict(list)
    for hit in hits:
        passages[part_of(hit.id)[0]].append(hit)
    joined = sorted((join_session(id_, of_one) for id_, of_one in passages.items()), key=lambda hit: hit.order)
    if not found:
        return joined
    known = {hit.id for hit in found}
    below = [
        SessionHit(hit.id, best.score, best.scored, (best,))
        for hit in joined
        if hit.id not in known
        for best in hit.passages[:1]
    ]
    return [*found, *sorted(below, key=lambda hit: hit.order)]


def join_session(session_id: str, passages: Sequence[WordHit]) -> SessionHit:
    """Put the passages of one session together."""
    best = sorted(passages, key=lambda hit: (-hit.score, part_of(hit.id)[1]))
    score = soft_maximum(hit.score for hit in best)
    scored = [hit.scored for hit in best if hit.scored]
    together = None
    if scored:
        # Each term with its best score.
        terms = {term.term: term for each in reversed(scored) for term in each.terms}
        length = sum(each.length for each in scored)
        together = bm25.Scored(score, length, scored[0].statistics, tuple(terms.values()))
    # What the others were scored from would fill the cache.
    return SessionHit(session_id, score, together, (best[0], *(WordHit(hit.id, hit.score) for hit in best[1:])))


def score_messages(
    hit: SessionHit, name: str | None, messages: Sequence[str], terms: Mapping[str, bm25.TermScore]
) -> SessionHit | None:
    """Score a session again by some of its messages; None if they have none of the words.

    The statistics are those of the whole index.
    """
    if hit.scored is None:
        return hit
    passages = packed(messages)
    if name:
        passages[0].insert(0, name)
    asked = [bm25.QueryTerm(term.term, term.times, term.df) for term in terms.values()]
    found = []
    for number, texts in enumerate(passages):
        counts = Counter(words(searchable(texts)))
        scored = bm25.score(counts, counts.total(), terms=asked, statistics=hit.scored.statistics)
        if scored.terms:
            found.append(WordHit(part_id(hit.id, number), scored.score, scored))
    return join_session(hit.id, found) if found else None
