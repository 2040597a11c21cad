"""BM25 in memory: exact, plain, in the shape of the postings store."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from querymill_workers.domain.modules import camel_words
from querymill_workers.ports import WordHit, WordUnit


def tokens(text: str) -> list[str]:
    """Identifiers whole and in parts, Chinese by pairs of characters."""
    found: list[str] = []
    for run in re.findall(r"[A-Za-z0-9_]+|[\u3400-\u9fff]+", text):
        if run.isascii():
            parts = camel_words(run)
            found += [run.lower(), *(parts if len(parts) > 1 else [])]
        else:
            found += [run[n : n + 2] for n in range(max(len(run) - 1, 1))]
    return found


class MemoryWords:
    """`Words` without a server; raises what it is told to."""

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._units: dict[tuple[str, str], dict[str, tuple[WordUnit, Counter[str]]]] = {}
        self.fails_with: Exception | None = None

    def put(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        self._fail()
        known = self._units.setdefault((collection, space), {})
        known.update({unit.id: (unit, Counter(tokens(unit.text))) for unit in units})

    def drop(self, collection: str, space: str, ids: Sequence[str]) -> None:
        self._fail()
        for gone in ids:
            self._units.get((collection, space), {}).pop(gone, None)

    def search(
        self, collection: str, space: str, text: str, *, most: int, groups: Sequence[str] | None = None
    ) -> list[WordHit]:
        self._fail()
        units = self._units.get((collection, space), {})
        lengths = {name: sum(counts.values()) for name, (_, counts) in units.items()}
        average = sum(lengths.values()) / max(len(units), 1) or 1.0
        scores: Counter[str] = Counter()
        for token in tokens(text):
            having = {name: counts[token] for name, (_, counts) in units.items() if counts[token]}
            idf = math.log(1 + (len(units) - len(having) + 0.5) / (len(having) + 0.5))
            for name, tf in having.items():
                norm = self._k1 * (1 - self._b + self._b * lengths[name] / average)
                scores[name] += idf * tf * (self._k1 + 1) / (tf + norm)  # type: ignore[assignment]  # a float
        wanted = [(name, score) for name, score in scores.items() if groups is None or units[name][0].group in groups]
        return [WordHit(name, score) for name, score in sorted(wanted, key=lambda hit: (-hit[1], hit[0]))[:most]]

    def stale(self, collection: str, space: str) -> bool:
        self._fail()
        return False

    def _fail(self) -> None:
        if self.fails_with is not None:
            raise self.fails_with
