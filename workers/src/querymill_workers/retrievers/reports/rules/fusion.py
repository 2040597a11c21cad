"""Fuse the hits of all queries. Agreement between queries is rewarded; many passages of one page are not."""

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Unit = Literal["page", "chunk"]

_UNITS: Final[dict[str, Unit]] = {"page": "page", "chunk": "chunk"}
_SHOWN_PLACES: Final = 4
_FORMULA: Final = "inner_factor × max_inner_product"
_REWARDED: Final = _FORMULA + " × (1 + agreement × (count − 1))"


class HitKey(
    NamedTuple
):  # a search makes hundreds, and frozen dataclasses take three times as long to make and to hash
    """The page or chunk that a hit stands for: the sha1 of its document, and its number in the document."""

    document: str
    unit: Unit
    number: int

    def encoded(self) -> str:
        """Return the key as text, such as ``2fd4e1c6/page/12``. `decode_key` reads it back."""
        return encode_key(self.document, self.unit, self.number)


def encode_key(document: str, unit: Unit, number: int) -> str:
    """Return the text of a key, without making the key."""
    return f"{document}/{unit}/{number}"


def entry_id(document: str, number: int) -> str:
    """Return the id of a passage wherever it has one: in the text index, and among texts that were set aside."""
    return HitKey(document, "chunk", number).encoded()


class QueryHit(NamedTuple):
    """A passage (by chunk number) that a query found, and the page or chunk that it counts for (``key``)."""

    query: str
    key: HitKey
    passage: int
    inner_product: float


class FusedPassage(NamedTuple):
    """A page or chunk after fusion.

    ``score`` is rounded for display. ``similarity`` is the largest inner product, not rounded. It comes from
    ``passage`` and from the first of ``queries``. ``query_count`` is the number of distinct queries that hit the key,
    and ``queries`` names them, the nearest first.
    """

    key: HitKey
    score: float
    similarity: float
    query_count: int
    queries: tuple[str, ...]
    passage: int


@lru_cache(maxsize=65_536)  # the queries of a job hit the same keys many times
def decode_key(text: str) -> HitKey:
    """Read a key that `HitKey.encoded` wrote.

    Raises:
        ValueError: The text is not the encoded form of a key.
    """
    head, _, number = text.rpartition("/")
    document, _, unit_name = head.rpartition("/")
    unit = _UNITS.get(unit_name)
    if unit is None or not number.removeprefix("-").isdecimal():
        raise ValueError(f"not a key of a hit: {text!r}")
    key = HitKey(document, unit, int(number))
    if key.encoded() != text:
        raise ValueError(f"not a key of a hit in canonical form: {text!r} (expected {key.encoded()!r})")
    return key


def fuse(
    hits: Iterable[QueryHit], *, top_n: int, inner_factor: float = 1.0, agreement: float = 0.2
) -> list[FusedPassage]:
    """Fuse the hits of all queries into one ranking of keys.

    ``score = inner_factor × max(inner products) × (1 + agreement × (count − 1))``: with a maximum of 0.8,
    hits of 1, 2 and 3 queries score 0.8, 0.96 and 1.12. Decided: ``count`` is the number of distinct queries, not
    of passages. A negative maximum is not multiplied by the agreement factor. Hits are ordered by unrounded scores,
    and the reported score is rounded to 4 places. Ties break on document, unit and number. The order and repetition
    of the given hits do not matter, and a smaller ``top_n`` returns a prefix of the same list.

    Args:
        hits: Every (query, passage) hit, in any order.
        top_n: Number of fused hits to return.
        inner_factor: Factor of the inner product, above 0.
        agreement: What each further query adds, as a share of the score of one query; 0 or more.

    Raises:
        ValueError: A parameter is out of its range, or an inner product is not a finite number.
    """
    if top_n < 0 or inner_factor <= 0 or agreement < 0:
        raise ValueError(f"out of range: {top_n=}, {inner_factor=}, {agreement=}")
    by_key: dict[HitKey, list[QueryHit]] = defaultdict(list)
    for hit in hits:
        if not math.isfinite(hit.inner_product):
            raise ValueError(f"inner product {hit.inner_product} of {hit.key.encoded()}")
        by_key[hit.key].append(hit)
    scored = [_fused(key, found, inner_factor, agreement) for key, found in by_key.items()]
    scored.sort()
    return [fused for _, _, fused in scored[:top_n]]


def explain(hit: FusedPassage, *, inner_factor: float = 1.0, agreement: float = 0.2) -> dict[str, object]:
    """Explain a score, so that a person can recompute it by hand.

    Args:
        hit: A hit that `fuse` returned.
        inner_factor: As given to `fuse`.
        agreement: As given to `fuse`.

    Returns:
        The formula in words, every number in it, and the queries that were counted.
    """
    return {
        "formula": _REWARDED if hit.similarity >= 0 else _FORMULA,
        "max_inner_product": hit.similarity,
        "inner_factor": inner_factor,
        "agreement": agreement,
        "count": hit.query_count,
        "agreement_factor": _agreement_factor(hit.similarity, hit.query_count, agreement),
        "queries": list(hit.queries),
        "passage": hit.passage,
        "score": hit.score,
        "rounded_to": _SHOWN_PLACES,
    }


def _fused(
    key: HitKey, hits: list[QueryHit], inner_factor: float, agreement: float
) -> tuple[float, HitKey, FusedPassage]:
    """Fuse the hits of one key. What it is sorted by stands before it: the unrounded score, negated, and the key."""
    if len(hits) > 1:
        hits = sorted(hits, key=lambda hit: (-hit.inner_product, hit.query, hit.passage))
    query, _, passage, similarity = hits[0]
    queries = (query,) if len(hits) == 1 else tuple(dict.fromkeys([hit.query for hit in hits]))
    score = inner_factor * similarity * _agreement_factor(similarity, len(queries), agreement)
    return -score, key, FusedPassage(key, round(score, _SHOWN_PLACES), similarity, len(queries), queries, passage)


def _agreement_factor(similarity: float, count: int, agreement: float) -> float:
    return 1.0 if similarity < 0 else 1 + agreement * (count - 1)
