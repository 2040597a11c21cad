"""Search messages by text: those that contain the question, then those that have its words (BM25)."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.values import value
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.messages.matches import TEXT_SIMILARITY, Gap, Match, MessageMatches
from querymill_workers.retrievers.messages.ports import SPACES, MessagePorts
from querymill_workers.retrievers.messages.rules.places import holds_rare_word
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, VectorType
from querymill_workers.text import bm25
from querymill_workers.words.ports import WordHit

#: Rows that each ranking returns for every hit that is asked for, and the fewest that it returns.
CANDIDATES_PER_HIT: Final = 4
MIN_CANDIDATES: Final = 50
#: If no more sessions than this have a row that passes a filter, only their words are read.
MAX_SESSIONS: Final = 1_000


@value
class WordRanking:
    """Rows that have words of the question, best first; ``whole`` if no other row has any of the words."""

    rows: Sequence[MessageRow]
    hits: Mapping[str, WordHit]
    whole: bool

    def is_rare(self, row: MessageRow) -> bool:
        """Whether a row holds a rare word of the question."""
        scored = self.hits[row.vector_id].scored
        return scored is not None and holds_rare_word(scored)


class RankingByWords(Protocol):
    """A way to rank rows by the words of the question."""

    def __call__(  # noqa: D102  # as `rank_by_words`
        self,
        request: MessageSearch,
        where: MessageFilter,
        vector_type: VectorType,
        ports: MessagePorts,
        *,
        model: str,
        vector: npt.NDArray[np.float32] | None = None,
    ) -> WordRanking: ...


def search_text(
    request: MessageSearch,
    where: MessageFilter,
    ports: MessagePorts,
    *,
    model: str,
    why: str,
    code: Code = "pending",
    rank: RankingByWords | None = None,
) -> MessageMatches:
    """Find messages that contain the question, newest first, then those that have its words, best first.

    A message and its context are one match, by whichever was found first.

    Args:
        request: The search.
        where: The rows that may be found.
        ports: Where messages and their words are stored.
        model: The model whose row represents a passage that has rows of several.
        why: Why the vectors were not searched.
        code: The same, as a code.
        rank: How rows are ranked by words; `rank_by_words` if None.
    """
    containing, count = ports.messages.containing(where, request.query, limit=candidates_of(request))
    found = {row.message: match_by_substring(row) for row in containing}
    rare = list(found.values())
    gaps, whole = [Gap("embed", why, code)], count == len(containing)
    for vector_type in where.vector_types:
        try:
            ranking = (rank or rank_by_words)(request, where, vector_type, ports, model=model)
        except Refused as error:
            gaps.append(Gap("words", str(error), error.code))
            continue
        whole = whole and ranking.whole
        for row in newest_first([row for row in ranking.rows if row.message not in found], ranking):
            found[row.message] = match_by_words(row, ranking.hits[row.vector_id])
            rare += [found[row.message]] if ranking.is_rare(row) else []
    matches = list(found.values())
    return MessageMatches(
        mode="text",
        why=why,
        best=matches[: request.limit],
        total=max(len(matches), count),
        total_is_exact=whole,
        compared=False,
        gaps=tuple(gaps),
        rare=rare,
    )


def candidates_of(request: MessageSearch) -> int:
    """Return how many rows each ranking is asked for."""
    return max(MIN_CANDIDATES, CANDIDATES_PER_HIT * request.limit)


def match_by_substring(row: MessageRow) -> Match:
    """Match a row that contains the question."""
    return Match(row, TEXT_SIMILARITY, 0.0, ("substring",), {"formula": "contains the query"})


def rank_by_words(
    request: MessageSearch,
    where: MessageFilter,
    vector_type: VectorType,
    ports: MessagePorts,
    *,
    model: str,
    vector: npt.NDArray[np.float32] | None = None,
) -> WordRanking:
    """Rank rows by BM25, asking for more words until enough rows pass the filter.

    With a vector, each row comes with its cosine to the vector if the row has one of the model.

    Raises:
        Refused: The text index was built by another tokeniser version.
    """
    wanted = limit = candidates_of(request)
    groups = sessions_to_search(where, ports)
    while True:
        hits = ports.words.search(where.collection, SPACES[vector_type], request.query, limit=limit, groups=groups)
        rows = ports.messages.rows(where, [hit.id for hit in hits], vector, model=model)
        whole = len(hits) < limit
        if whole or len(rows) >= wanted:
            ranked = [rows[hit.id] for hit in hits if hit.id in rows][:wanted]
            return WordRanking(ranked, {hit.id: hit for hit in hits}, whole and len(rows) <= wanted)
        limit *= 4


def sessions_to_search(where: MessageFilter, ports: MessagePorts) -> Sequence[str] | None:
    """Return the sessions whose words are searched, or None for all."""
    if where.session_id is not None:
        return [where.session_id]
    if where.lacking is None and not where.conditions:
        return None
    sessions = ports.messages.sessions_of(where, limit=MAX_SESSIONS + 1)
    return sessions if len(sessions) <= MAX_SESSIONS else None


def newest_first(rows: Sequence[MessageRow], ranking: WordRanking) -> list[MessageRow]:
    """Order rows by score, rows of one score by time, newest first, and rows of one time by id."""
    by_id = sorted(rows, key=lambda row: row.vector_id)
    by_time = sorted(by_id, key=lambda row: row.created_at, reverse=True)
    return sorted(by_time, key=lambda row: -ranking.hits[row.vector_id].score)


def match_by_words(row: MessageRow, hit: WordHit) -> Match:
    """Match a row that has words of the question."""
    explanation = {} if hit.scored is None else bm25.explain(hit.scored)
    return Match(row, TEXT_SIMILARITY, hit.score, ("words",), explanation)
