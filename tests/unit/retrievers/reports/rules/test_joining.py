import pytest

from querymill_workers.retrievers.reports.rules.fusion import HitKey, QueryHit, fuse
from querymill_workers.retrievers.reports.rules.joining import (
    RankedHit,
    WordsHit,
    explain_ranked,
    in_turn,
    joined,
    order_by_words,
)
from querymill_workers.retrievers.reports.rules.routing import Side
from querymill_workers.vectors.rules.weights import VectorsWeight


def page(document: str, number: int = 1) -> HitKey:
    return HitKey(document, "page", number)


def test_words_are_ordered_by_their_share_of_each_querys_best() -> None:
    found = [
        WordsHit("q", page("a"), 0, 8.0),
        WordsHit("q", page("b"), 1, 6.0),
        WordsHit("r", page("b"), 2, 3.0),
        WordsHit("r", page("c"), 3, 4.0),
    ]
    assert [(hit.key.document, hit.score) for hit in order_by_words(found)] == [("a", 1.0), ("c", 1.0), ("b", 0.9)]


def test_two_orders_are_joined_by_their_ranks() -> None:
    fusion = fuse([QueryHit("q", page("v"), 0, 0.9), QueryHit("q", page("w"), 0, 0.8)], top_n=9)
    words = order_by_words([WordsHit("q", page(name), 0, 9.0 - n) for n, name in enumerate("xyv")])
    ranking = joined(fusion, words, VectorsWeight(0.5))
    assert [hit.key.document for hit in ranking] == ["v", "x", "y", "w"]
    scores = [1 / 13 + 0.5 / 11, 1 / 11, 1 / 12, 0.5 / 12]
    assert [hit.score for hit in ranking] == pytest.approx(scores, abs=1e-6)
    assert ranking[1].similarity == 0.0
    why = explain_ranked(ranking[1], inner_factor=1.0)
    assert (why["words_rank"], why["vectors_rank"], why["fusion_score"]) == (1, None, 0.0)


def ranked(*documents: str) -> list[RankedHit]:
    return [RankedHit(page(name[0], int(name[1:])), 0.0, 0) for name in documents]


def shown(ranking: list[RankedHit]) -> list[str]:
    return [f"{hit.key.document}{hit.key.number}" for hit in ranking]


def test_the_sides_of_a_comparison_take_turns() -> None:
    sides = [Side("A", ("a",)), Side("B", ("b", "c"))]
    assert shown(in_turn(ranked("a1", "a2", "a3", "b1"), sides)) == ["a1", "b1", "a2", "a3"]
    assert shown(in_turn(ranked("c1", "a1", "b1", "a2"), sides)) == ["c1", "a1", "b1", "a2"]
    assert explain_ranked(in_turn(ranked("a1"), sides)[0], inner_factor=1.0)["in_turn_for"] == "A"


def test_without_sides_nothing_is_shared() -> None:
    assert shown(in_turn(ranked("a1", "a2", "b1"), [])) == ["a1", "a2", "b1"]
