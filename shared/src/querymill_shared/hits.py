"""Hits as the board holds them: plain, frozen, the same for every retriever."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoardHit:
    """One (query, hit key) pair: the best score that the query gave the key, and the passage that earned it.

    ``key`` identifies what is hit (for reports: document, unit, number); higher scores are better.
    """

    key: str
    score: float
    passage: int


def pack(hits: tuple[BoardHit, ...]) -> str:
    """Write one query's hits as compact JSON."""
    return json.dumps([[hit.key, hit.score, hit.passage] for hit in hits], separators=(",", ":"))


def unpack(packed: str) -> tuple[BoardHit, ...]:
    """Read what `pack` wrote."""
    return tuple(BoardHit(key, score, passage) for key, score, passage in json.loads(packed))


class PackedHits(Mapping[str, tuple[BoardHit, ...]]):
    """Hits by query, read only when somebody looks: most branches finish without looking at the others'."""

    def __init__(self, packed: Mapping[str, str]) -> None:
        self._packed = packed

    def __getitem__(self, query: str) -> tuple[BoardHit, ...]:
        return unpack(self._packed[query])

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
