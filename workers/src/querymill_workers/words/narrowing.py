"""Searching a text index among some of its entries only, whichever rule chose them."""

from collections.abc import Collection, Sequence
from typing import Final

from querymill_workers.words.asked import NOTHING, Beside
from querymill_workers.words.ports import Space, WordHit, Words

#: How many times as many entries each further search reads.
GROWTH: Final = 8


def search_among(
    words: Words,
    collection: str,
    space: Space,
    text: str,
    *,
    limit: int,
    among: Collection[str] | None,
    also: Sequence[str] = (),
    beside: Beside = NOTHING,
) -> list[WordHit]:
    """Return the ``limit`` best entries with one of the ids, best first, or of all entries if there are no ids.

    Terms that are ``also`` asked for score nothing, and what is searched ``beside`` the text counts as the port says.
    Scores have the statistics of the whole index. The ranking is read further until enough entries have one of the
    ids: nothing is cut before it is chosen.
    """
    if among is None:
        return words.search(collection, space, text, limit=limit, also=also, beside=beside)
    chosen, asked = frozenset(among), limit
    while chosen:
        asked *= GROWTH
        hits = words.search(collection, space, text, limit=asked, also=also, beside=beside)
        kept = [hit for hit in hits if hit.id in chosen]
        if len(kept) >= min(limit, len(chosen)) or len(hits) < asked:
            return kept[:limit]
    return []
