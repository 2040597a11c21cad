import pytest

from querymill_workers.retrievers.conversations.rules.page_rank import page_ranks
from querymill_workers.retrievers.conversations.rules.references import Kind, Reference


def edge(source: str, target: str, kind: Kind = "explicit") -> Reference:
    return Reference(source, target, kind, 3, 4)


def test_page_rank_worked_out_by_hand() -> None:
    # c -> b -> a: shares t, t + 0.85 t, t + 0.85 (t + 0.85 t); less t, over the highest: 0, 0.85 / 1.5725, 1.
    found = page_ranks(["a", "b", "c"], [edge("b", "a"), edge("c", "b")])
    assert found == {"c": 0, "b": pytest.approx(0.85 / 1.5725, abs=1e-6), "a": 1}


def test_a_reference_from_a_session_that_is_referred_to_counts_for_more() -> None:
    ids = ["old", "other", "hub", "x", "y"]
    edges = [edge("hub", "old"), edge("x", "hub"), edge("y", "other")]
    found = page_ranks(ids, edges)
    assert found["old"] > found["other"] > 0


def test_an_implicit_reference_passes_on_half_of_what_an_explicit_one_does_and_is_not_counted_beside_it() -> None:
    both = [edge("s", "a"), edge("s", "a", "implicit"), edge("s", "b", "implicit")]
    found = page_ranks(["a", "b", "s"], both)
    # a gets two thirds of what s passes on, b one third.
    assert found["b"] / found["a"] == pytest.approx(0.5, abs=1e-6)


def test_without_references_every_session_has_0() -> None:
    assert page_ranks(["a", "b"], []) == {"a": 0, "b": 0}
