"""Calibrate an embedding model: where its raw cosines lie for related texts, and where for unrelated ones."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from querymill_evaluation.message_sets import read_message_set, session_of
from querymill_evaluation.sets import BadSet
from querymill_shared.calibration import fit_points, percentile

Vector = Sequence[float]
#: Where the bands begin, and the default threshold among them.
BANDS: Final = (("low", 0.4), ("medium", 0.6), ("the default threshold", 0.7), ("high", 0.8), ("exact", 1.0))
#: Unrelated pairs of real texts by which the price of the bands is measured, at least.
MIN_PAIRS: Final = 1_000
#: Messages that each query of a set is compared with, in addition to those that answer it.
OTHERS: Final = 5


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A query and a message to compare, and whether the message answers the query."""

    query: str
    message: str
    related: bool


def sample_comparisons() -> list[ComparedPair]:
    """Read the pairs of this package: each query with its own message, and with the message of every other query."""
    text = (resources.files("querymill_evaluation") / "calibration_pairs.jsonl").read_text(encoding="utf-8")
    pairs = [json.loads(line) for line in text.splitlines()]
    return [
        ComparedPair(asked["query"], answering["message"], related=asked is answering)
        for asked in pairs
        for answering in pairs
    ]


def set_comparisons(folder: Path, *, max_queries: int) -> list[ComparedPair]:
    """Take a sample of a set: queries with their judged messages, and with some that were not judged.

    Raises:
        BadSet: The folder is not an evaluation set of messages.
    """
    chosen = read_message_set(folder, max_queries=max_queries)
    texts = {
        message.message_id: message.text for session in chosen.sessions for message in session.messages if message.text
    }
    ids = list(texts)
    comparisons = []
    for number, query in enumerate(chosen.queries):
        judged = set(chosen.qrels[query.query_id])
        others = [ids[(number * 7_919 + turn * 104_729) % len(ids)] for turn in range(OTHERS)]
        comparisons += [ComparedPair(query.text, texts[id_], related=True) for id_ in sorted(judged) if id_ in texts]
        comparisons += [ComparedPair(query.text, texts[id_], related=False) for id_ in others if id_ not in judged]
    return comparisons


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors; 0 if either is nothing but noughts."""
    lengths = math.hypot(*left) * math.hypot(*right)
    return math.fsum(a * b for a, b in zip(left, right, strict=True)) / lengths if lengths else 0.0


def folder_comparisons(folder: Path, *, max_queries: int) -> list[ComparedPair]:
    """Take a sample of each evaluation set of messages in a folder, to measure what the bands are worth on real pairs.

    Raises:
        BadSet: No folder in it is such a set, or together they have fewer than `MIN_PAIRS` unrelated pairs.
    """
    comparisons: list[ComparedPair] = []
    for each in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            if not _is_of_messages(each):
                continue
            comparisons += set_comparisons(each, max_queries=max_queries)
        except (BadSet, OSError):
            continue  # a set of another kind, or none
    unrelated = sum(not pair.related for pair in comparisons)
    if unrelated < MIN_PAIRS:
        raise BadSet(f"{folder}: its sets have {unrelated} unrelated pairs; at least {MIN_PAIRS} are needed")
    return comparisons


def _is_of_messages(folder: Path) -> bool:
    """Tell whether the queries of a set name the session that they are asked in."""
    first = (folder / "queries.jsonl").read_text(encoding="utf-8").partition("\n")[0]
    return bool(first) and session_of(json.loads(first).get("metadata") or {}) is not None


def band_prices(
    points: Sequence[tuple[float, float]], related: Sequence[float], unrelated: Sequence[float]
) -> dict[str, Any]:
    """Return what each band costs: the share of unrelated real pairs that reach it, beside that of related ones.

    Of the unrelated cosines 0.1, 0.2, 0.7 and 0.9, a band that begins at the cosine 0.65 is reached by 0.5.
    """
    return {
        "pairs": {"related": len(related), "unrelated": len(unrelated)},
        "bands": [
            {
                "band": name,
                "similarity": least,
                "cosine": round(cosine_at(points, least), 4),
                "unrelated": round(share_from(unrelated, cosine_at(points, least)), 4),
                "related": round(share_from(related, cosine_at(points, least)), 4),
            }
            for name, least in BANDS
        ],
    }


def cosine_at(points: Sequence[tuple[float, float]], similarity: float) -> float:
    """Return the least raw cosine that the map takes to a similarity, which lies between its ends."""
    for (left, low), (right, high) in pairwise(points):
        if similarity <= high:
            return left + (max(similarity, low) - low) * (right - left) / (high - low)
    return points[-1][0]


def share_from(cosines: Sequence[float], least: float) -> float:
    """Return the share of cosines that are at least so large."""
    return sum(value >= least for value in cosines) / len(cosines) if cosines else 0.0


def profile(model: str, related: Sequence[float], unrelated: Sequence[float]) -> dict[str, Any]:
    """Return the profile of a model: its map, and the cosines it was measured on."""
    return {
        "model": model,
        "points": [list(point) for point in fit_points(related, unrelated)],
        "related": summarise(related),
        "unrelated": summarise(unrelated),
    }


def summarise(cosines: Sequence[float]) -> Mapping[str, float]:
    """Summarise cosines: their number, range and percentiles."""
    named = {f"p{percent}": round(percentile(cosines, percent), 4) for percent in (5, 10, 25, 50, 75, 95)}
    return {"pairs": len(cosines), "least": round(min(cosines), 4), **named, "greatest": round(max(cosines), 4)}
