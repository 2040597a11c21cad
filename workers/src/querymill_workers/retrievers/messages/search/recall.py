"""Recall rows for a question: the nearest by vectors, those that have its words, and those that contain it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.sessions import message_key
from querymill_shared.values import value
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.messages.ports import NEIGHBOURS, SPACES, MessagePorts, Nearest
from querymill_workers.retrievers.messages.rules.neighbours import (
    OTHER_SPEAKER,
    TUNING,
    link_to,
    merged,
    share_of,
    without,
)
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, VectorType, vector_id
from querymill_workers.retrievers.messages.search.matches import CalibratedQuestion, Gap
from querymill_workers.retrievers.messages.search.understand import MessageQuestion, beside_of
from querymill_workers.words.ports import WordHit

#: Rows that each ranking returns for every hit that is asked for, and the fewest that it returns.
CANDIDATES_PER_HIT: Final = 4
MIN_CANDIDATES: Final = 50
#: Rows that each ranking contributes with ranking "best", whatever the limit: it must not reorder the head of the list.
CANDIDATES: Final = 200
#: If no more sessions than this have a row that passes a filter, only their words are read.
MAX_SESSIONS: Final = 1_000


@value
class WordRanking:
    """Rows that have words of the question, best first; ``whole`` if no other row has any of the words."""

    rows: Sequence[MessageRow]
    hits: Mapping[str, WordHit]
    whole: bool


@value
class RecalledPair:
    """The nearest rows, and those with words of the question. Without words, the text index could not be read.

    ``is_whole`` tells whether the nearest are all rows that reach the floor.
    """

    near: Nearest
    is_whole: bool
    words: WordRanking | None = None


@value
class RecalledText:
    """Rows that contain the question, the newest first, how many do, and for each type those that have its words."""

    containing: Sequence[MessageRow]
    count: int
    words: Sequence[WordRanking]
    gaps: tuple[Gap, ...]


@value
class RecalledMessages:
    """What was recalled with a vector, by the part of the name of its rankings, and without one.

    ``text`` is recalled if there is no vector of the question, or no row to compare it with, and of the rows that wait
    for a vector if the ranking is by vectors alone.
    """

    pairs: Mapping[str, RecalledPair]
    text: RecalledText | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def is_compared(self) -> bool:
        """Whether any row had a vector to compare."""
        return any(pair.near.rows for pair in self.pairs.values())

    @property
    def skipped(self) -> int:
        """How many rows have no vector of the model."""
        return sum(pair.near.skipped for pair in self.pairs.values())


def recall_messages(
    asked: MessageQuestion, question: CalibratedQuestion | None, ports: MessagePorts
) -> RecalledMessages:
    """Recall the rows that the ranking of a request joins: by its vector if it has one, else by text."""
    request, where = asked.request, asked.where
    if question is None:
        return RecalledMessages({}, recall_text(asked, where, ports, model=ports.embeddings.model))
    if asked.joins_neighbours:
        recalled = recall_best(asked, question, ports)
    elif request.hybrid:
        recalled = recall_hybrid(asked, question, ports)
    else:
        recalled = recall_vectors(asked, question, ports)
    if recalled.is_compared or not recalled.skipped:
        return recalled
    return replace(recalled, text=recall_text(asked, where, ports, model=question.model))


def recall_best(asked: MessageQuestion, question: CalibratedQuestion, ports: MessagePorts) -> RecalledMessages:
    """Recall the nearest messages, and those whose words or neighbours have words of the question. Rows are brief."""
    where = asked.where
    near = ports.messages.nearest(
        where, question.vector, model=question.model, limit=CANDIDATES, floor=question.min_cosine, brief=True
    )
    words_of: VectorType = "message" if "message" in where.vector_types else "context"
    typed = replace(where, vector_types=(words_of,))
    words, gaps = None, list[Gap]()
    try:
        words = rank_by_neighbours(
            asked.request, typed, words_of, ports, model=question.model, vector=question.vector, brief=True
        )
    except Refused as error:
        gaps.append(Gap("words", str(error), error.code))
    pair = RecalledPair(near, near.exact and near.passed <= CANDIDATES, words)
    return RecalledMessages({"": pair}, gaps=tuple(gaps))


def recall_hybrid(asked: MessageQuestion, question: CalibratedQuestion, ports: MessagePorts) -> RecalledMessages:
    """Recall the nearest rows, and those with words of the question, of each type."""
    limit = candidates_of(asked.request)
    pairs, gaps = dict[str, RecalledPair](), list[Gap]()
    for vector_type in asked.where.vector_types:
        typed = replace(asked.where, vector_types=(vector_type,))
        near = ports.messages.nearest(
            typed, question.vector, model=question.model, limit=limit, floor=question.min_cosine
        )
        words = None
        try:
            words = rank_by_words(
                asked.request, typed, vector_type, ports, model=question.model, vector=question.vector
            )  # fmt: skip
        except Refused as error:
            gaps.append(Gap("words", str(error), error.code))
        pairs[f":{vector_type}"] = RecalledPair(near, near.exact and near.passed <= limit, words)
    return RecalledMessages(pairs, gaps=tuple(gaps))


def recall_vectors(asked: MessageQuestion, question: CalibratedQuestion, ports: MessagePorts) -> RecalledMessages:
    """Recall the nearest rows, and by text those without a vector."""
    near = ports.messages.nearest(
        asked.where, question.vector, model=question.model, limit=asked.request.limit, floor=question.min_cosine
    )
    waiting = None
    if near.rows and near.skipped:
        lacking = replace(asked.where, lacking=question.model)
        waiting = recall_text(asked, lacking, ports, model=question.model)
    return RecalledMessages({"": RecalledPair(near, near.exact)}, waiting)


def recall_text(asked: MessageQuestion, where: MessageFilter, ports: MessagePorts, *, model: str) -> RecalledText:
    """Recall rows that contain the question, and rows that have its words: those of neighbours with ranking "best".

    ``model`` is the one whose row represents a passage that has rows of several.
    """
    request = asked.request
    containing, count = ports.messages.containing(where, request.query, limit=candidates_of(request))
    rank = rank_by_neighbours if asked.joins_neighbours else rank_by_words
    rankings, gaps = list[WordRanking](), list[Gap]()
    for vector_type in where.vector_types:
        try:
            rankings.append(rank(request, where, vector_type, ports, model=model))
        except Refused as error:
            gaps.append(Gap("words", str(error), error.code))
    return RecalledText(containing, count, rankings, tuple(gaps))


def candidates_of(request: MessageSearch) -> int:
    """Return how many rows each ranking is asked for."""
    return max(MIN_CANDIDATES, CANDIDATES_PER_HIT * request.limit)


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
    groups, beside = sessions_to_search(where, ports), beside_of(request)
    while True:
        hits = ports.words.search(
            where.collection, SPACES[vector_type], request.query, limit=limit, groups=groups, beside=beside
        )
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


def rank_by_neighbours(
    request: MessageSearch,
    where: MessageFilter,
    vector_type: VectorType,
    ports: MessagePorts,
    *,
    model: str,
    vector: npt.NDArray[np.float32] | None = None,
    brief: bool = False,
) -> WordRanking:
    """Rank messages by their words and those of their neighbours, asking for more until enough rows pass the filter.

    Contexts, which hold the neighbours' words already, are ranked by their own.

    Raises:
        Refused: The text index was built by another tokeniser version.
    """
    if vector_type == "context":
        return rank_by_words(request, where, vector_type, ports, model=model, vector=vector)
    groups, limit, beside = sessions_to_search(where, ports), CANDIDATES, beside_of(request)
    link = link_to(request.exclude_message_id) if request.exclude_message_id else None
    while True:
        near = ports.words.search(
            where.collection, NEIGHBOURS, request.query,
            limit=limit, groups=groups, beside=beside, tuning=TUNING, also=() if link is None else (link,),
        )  # fmt: skip
        # The words of the excluded message, and of others by which they are taken out of its neighbours.
        own = list[WordHit]()
        if link is not None:
            own = ports.words.search(
                where.collection, SPACES["message"], request.query, limit=limit, groups=groups, beside=beside
            )  # fmt: skip
        ids = list({hit.id: None for hit in (*near, *own)})
        rows = ports.messages.rows(where, ids, vector, model=model, brief=brief)
        if link is not None:
            near = without_excluded(near, own, link, request, {id_: row.session_id for id_, row in rows.items()})
        hits = merged(near, own)
        whole = len(near) < limit and len(own) < limit
        ranked = [rows[hit.id] for hit in hits if hit.id in rows]
        if whole or len(ranked) >= CANDIDATES:
            return WordRanking(ranked[:CANDIDATES], {hit.id: hit for hit in hits}, whole and len(ranked) <= CANDIDATES)
        limit *= 4


def without_excluded(
    near: list[WordHit], own: list[WordHit], link: str, request: MessageSearch, session_of: dict[str, str]
) -> list[WordHit]:
    """Take the words of the excluded message out of the entries that count them, and order all entries again.

    If its answers are to come first, its words stay in the messages that answer it, and go from those that are near it.
    """
    key = message_key(request.exclude_message_id, 0)
    scored = {hit.id: hit.scored for hit in own}
    left: list[WordHit | None] = []
    for hit in near:
        session_id = session_of.get(hit.id)
        is_meant = session_id is not None and request.exclude_session_id in (None, session_id)
        excluded = scored.get(vector_id(session_id, key, "message")) if session_id is not None else None
        stays = request.answers_first and share_of(hit, link) > OTHER_SPEAKER
        left.append(without(hit, link, excluded) if is_meant and not stays else hit)
    return sorted((hit for hit in left if hit is not None), key=lambda hit: (-hit.score, hit.id))
