"""Hits in the form that the board stores, the same for every retriever."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic_core import from_json, to_json


class BoardHit(NamedTuple):
    """The best score that one query gave one hit, and the passage with that score.

    ``key`` identifies the hit (for reports: document, unit, number). Higher scores are better.
    """

    key: str
    score: float
    passage: int


def pack(hits: tuple[BoardHit, ...]) -> str:
    """Return one query's hits as compact JSON."""
    # A list is written three times as fast as a named tuple.
    return to_json([[key, score, passage] for key, score, passage in hits]).decode()


def unpack(packed: str) -> tuple[BoardHit, ...]:
    """Return the hits that `pack` wrote."""
    return tuple(map(BoardHit._make, from_json(packed)))


class PackedHits(Mapping[str, tuple[BoardHit, ...]]):
    """Hits by query, decoded on access, because most steps finish without reading the hits of others."""

    def __init__(self, packed: Mapping[str, str]) -> None:
        self._packed = packed

    def __getitem__(self, query: str) -> tuple[BoardHit, ...]:
        return unpack(self._packed[query])

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
