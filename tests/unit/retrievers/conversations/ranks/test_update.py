"""Updating the references of one session, on a graph in memory."""

from collections.abc import Iterable

import pytest

from querymill_workers.retrievers.conversations.ranks.update import from_and_to, update
from querymill_workers.retrievers.conversations.rules.references import Near, Reference
from tests.fixtures.conversations import START, Store, draft, memory_store


@pytest.fixture
def store() -> Store:
    return memory_store()


def put(store: Store, name: str, phrases: Iterable[int], day: float, *, explicit: bool = False) -> None:
    store.put("c", draft(name, day=day, phrases=phrases, explicit=explicit))


def bring_up_to_date(store: Store, *names: str) -> list[int]:
    """Update sessions in this order, and give how many references each update changed."""
    with store.ranks.graph("c") as graph:
        changed = [update(graph, name) for name in names]
        graph.mark_updated(names)
    return changed


def edges(store: Store) -> set[tuple[str, str, str]]:
    found, _ = store.stored_ranks("c", ["a", "b", "c", "d"])
    return {(edge.source, edge.target, edge.kind) for edge in found}


def test_a_new_session_gets_its_references_from_earlier_and_later_ones(store: Store) -> None:
    put(store, "a", {1, 2, 3}, 0)
    put(store, "c", {1, 2, 3, 4}, 2)
    assert bring_up_to_date(store, "a", "c") == [1, 0]  # the first update finds the reference already
    put(store, "b", {1, 2, 3}, 1)
    assert bring_up_to_date(store, "b") == [2]
    assert edges(store) == {("c", "a", "implicit"), ("b", "a", "implicit"), ("c", "b", "implicit")}


def test_updating_a_session_again_changes_nothing(store: Store) -> None:
    put(store, "a", {1, 2, 3}, 0)
    put(store, "b", {1, 2, 3}, 1, explicit=True)
    bring_up_to_date(store, "a", "b")
    before = edges(store)
    assert bring_up_to_date(store, "a", "b", "a") == [0, 0, 0]
    assert edges(store) == before == {("b", "a", "implicit"), ("b", "a", "explicit")}


def test_an_older_session_that_is_imported_late_may_be_what_an_explicit_phrase_means(store: Store) -> None:
    put(store, "a", {1, 2, 7, 8, 9}, 0)
    put(store, "c", {1, 2, 3, 4}, 5, explicit=True)
    bring_up_to_date(store, "a", "c")
    assert edges(store) == {("c", "a", "explicit")}
    put(store, "b", {1, 2, 3, 7, 8, 9}, 1)  # half of it comes back in c, of a only two fifths
    assert bring_up_to_date(store, "b") == [3]
    assert edges(store) == {("c", "b", "explicit"), ("b", "a", "implicit")}


def test_what_an_explicit_phrase_meant_is_looked_for_again_when_it_is_dropped(store: Store) -> None:
    put(store, "a", {1, 2, 7, 8, 9}, 0)
    put(store, "b", {1, 2, 3, 7, 8, 6}, 1)
    put(store, "c", {1, 2, 3, 4}, 5, explicit=True)
    bring_up_to_date(store, "a", "b", "c")
    assert ("c", "b", "explicit") in edges(store)
    store.conversations.drop("c", "b")
    bring_up_to_date(store, "b")
    assert edges(store) == {("c", "a", "explicit")}


def test_an_explicit_phrase_means_nothing_when_its_only_target_has_changed(store: Store) -> None:
    put(store, "a", {1, 2, 3}, 0)
    put(store, "b", {1, 2, 3}, 1, explicit=True)
    bring_up_to_date(store, "a", "b")
    put(store, "a", {7, 8, 9}, 0)
    assert bring_up_to_date(store, "a") == [2]
    assert edges(store) == set()


def test_a_session_that_is_moved_after_its_later_ones_refers_to_them(store: Store) -> None:
    put(store, "a", {1, 2, 3}, 0)
    put(store, "b", {1, 2, 3}, 1)
    bring_up_to_date(store, "a", "b")
    put(store, "a", {1, 2, 3}, 2)
    assert bring_up_to_date(store, "a") == [2]
    assert edges(store) == {("a", "b", "implicit")}


def test_a_reference_raises_the_part_of_its_target_and_of_nobody_else(store: Store) -> None:
    put(store, "a", {1, 2, 3}, 0)
    put(store, "b", {1, 2, 3}, 1, explicit=True)
    put(store, "d", {7, 8, 9}, 2)
    bring_up_to_date(store, "a", "b", "d")
    _, parts = store.stored_ranks("c", ["a", "b", "d"])
    assert {name: part.reference for name, part in parts.items()} == {"a": 0.2, "b": 0, "d": 0}


def test_the_explicit_references_to_a_session_are_left_to_those_who_make_them() -> None:
    session = draft("b", day=1, phrases={1, 2, 3}, explicit=True).facts
    earlier = Near("a", START, 3, explicit=False, shared=3)
    later = Near("c", draft("c", day=2).facts.started_at, 3, explicit=True, shared=3)
    assert from_and_to(session, [earlier, later]) == {
        Reference("b", "a", "implicit", 3, 3), Reference("b", "a", "explicit", 3, 3),
        Reference("c", "b", "implicit", 3, 3),
    }  # fmt: skip
    assert from_and_to(session, []) == set()
