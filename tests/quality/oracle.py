"""The reference for BM25: bm25s, which shares no code with ours, fed with the same words."""

from collections.abc import Mapping, Sequence

import bm25s

from querymill_workers.text.bm25 import K1, B


class Oracle:
    """BM25 as Lucene computes it, over units that do not change."""

    def __init__(self, units: Mapping[str, Sequence[str]]) -> None:
        """Index the words of units, by id; at least one unit has a word."""
        self._ids = list(units)
        self._index = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
        self._index.index([list(words) for words in units.values()], show_progress=False)

    def scores(self, query: Sequence[str]) -> dict[str, float]:
        """Score every unit that has a word of the query; a word given twice counts twice."""
        known = [term for term in query if term in self._index.vocab_dict]
        if not known:
            return {}
        scores = self._index.get_scores(known)
        return {id_: float(score) for id_, score in zip(self._ids, scores, strict=True) if score > 0}
