"""Search messages by the words of messages and their neighbours, joined with the vectors by rank.

question ─┬─> words, those of neighbours in part (rules/neighbours.py) ─┐
          └─> vectors ─> nearest messages                              ─┴─> Σ weight / (rrf_k + rank)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.sessions import message_key
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.messages.matches import CalibratedQuestion, Gap, Match, MessageMatches, passage_of
from querymill_workers.retrievers.messages.modes.hybrid import fuse, key_of, passing
from querymill_workers.retrievers.messages.modes.text import WordRanking, rank_by_words, sessions_to_search
from querymill_workers.retrievers.messages.ports import NEIGHBOURS, SPACES, MessagePorts
from querymill_workers.retrievers.messages.rules.neighbours import (
    OTHER_SPEAKER,
    TUNING,
    link_to,
    merged,
    share_of,
    without,
)
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, VectorType, vector_id
from querymill_workers.words.ports import WordHit

#: Rows that each ranking contributes, whatever the limit: the limit must not reorder the head of the list.
CANDIDATES: Final = 200


def search_best(
    request: MessageSearch, where: MessageFilter, question: CalibratedQuestion, ports: MessagePorts
) -> MessageMatches:
    """Join the ranking by words, neighbours counted, with that by vectors. A message is one hit.

    A row that has a vector must reach the threshold, whichever ranking found it.
    """
    near = ports.messages.nearest(
        where, question.vector, model=question.model, limit=CANDIDATES, floor=question.min_cosine, brief=True
    )
    rankings, gaps, whole = {"vector": passing(near.rows, question)}, list[Gap](), True
    words_of: VectorType = "message" if "message" in where.vector_types else "context"
    typed = replace(where, vector_types=(words_of,))
    try:
        ranking = rank_by_neighbours(
            request, typed, words_of, ports, model=question.model, vector=question.vector, brief=True
        )
    except Refused as error:
        gaps.append(Gap("words", str(error), error.code))
    else:
        rankings["words"], whole = passing(ranking.rows, question), ranking.whole
    total = len({key_of(row) for rows in rankings.values() for row in rows})
    return MessageMatches(
        mode="hybrid",
        best=shown(fuse(rankings, request, question, limit=request.limit), where, question, ports),
        total=total,
        total_is_exact=near.exact and near.passed <= CANDIDATES and whole,
        searched="exact" if near.exact else "approximate",
        best_below_threshold=None if total else question.best_similarity(near.rows),
        skipped=near.skipped,
        pending=near.pending,
        compared=bool(near.rows),
        gaps=tuple(gaps),
    )


def shown(
    matches: Sequence[Match], where: MessageFilter, question: CalibratedQuestion, ports: MessagePorts
) -> list[Match]:
    """Return matches with whole rows: hundreds of rows are ranked, and only those of the hits are read."""
    ids = [match.row.vector_id for match in matches]
    rows = ports.messages.rows(where, ids, question.vector, model=question.model) if ids else {}
    return [
        replace(match, row=row, explanation=match.explanation | passage_of(row))
        for match in matches
        if (row := rows.get(match.row.vector_id)) is not None
    ]


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
    groups, limit = sessions_to_search(where, ports), CANDIDATES
    link = link_to(request.exclude_message_id) if request.exclude_message_id else None
    while True:
        near = ports.words.search(
            where.collection, NEIGHBOURS, request.query,
            limit=limit, groups=groups, tuning=TUNING, also=() if link is None else (link,),
        )  # fmt: skip
        # The words of the excluded message, and of others by which they are taken out of its neighbours.
        own = list[WordHit]()
        if link is not None:
            own = ports.words.search(
                where.collection, SPACES["message"], request.query, limit=limit, groups=groups
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
