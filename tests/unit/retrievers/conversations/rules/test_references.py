from datetime import UTC, datetime, timedelta

import pytest

from querymill_workers.retrievers.conversations.rules.references import (
    Near,
    Reference,
    counted,
    explicit_reference,
    implicit_references,
    leading,
    needed,
)
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from tests.fixtures.conversations import draft as prepared

START = datetime(2026, 1, 1, tzinfo=UTC)


def later(*phrases: int, explicit: bool = False) -> SessionFacts:
    return prepared("later", day=9, phrases=phrases, explicit=explicit).facts


def near(name: str, shared: int, size: int, *, day: float = 1, explicit: bool = False) -> Near:
    return Near(name, START + timedelta(days=day), size, explicit, shared)


@pytest.mark.parametrize(("shared", "size", "refers"), [(3, 4, True), (3, 5, False), (4, 5, True), (2, 2, False),
                                                         (3, 3, True), (18, 30, False), (19, 30, True)])  # fmt: skip
def test_an_implicit_reference_takes_more_than_60_percent_of_the_earlier_session_and_3_phrases(
    shared: int, size: int, refers: bool
) -> None:
    found = implicit_references(later(*range(30)), [near("earlier", shared, size)])
    assert found == ([Reference("later", "earlier", "implicit", shared, size)] if refers else [])


def test_the_overlap_is_of_the_earlier_session_whatever_the_size_of_the_later() -> None:
    big = near("late and long", 4, 30, day=20)
    assert implicit_references(later(1, 2, 3, 4), [big]) == [Reference("late and long", "later", "implicit", 4, 4)]
    assert implicit_references(later(1, 2, 3, 4), [near("early and long", 4, 30)]) == []


def test_sessions_of_the_same_moment_do_not_refer_to_each_other() -> None:
    assert implicit_references(later(1, 2, 3), [near("twin", 3, 3, day=9)]) == []
    assert explicit_reference(later(1, 2, 3, explicit=True), [near("twin", 3, 3, day=9)]) is None


def test_an_explicit_phrase_means_the_earlier_session_of_the_highest_overlap() -> None:
    session = later(*range(30), explicit=True)
    rivals = [near("more phrases", 9, 30), near("higher overlap", 4, 10), near("tomorrow", 10, 10, day=10)]
    assert explicit_reference(session, rivals) == Reference("later", "higher overlap", "explicit", 4, 10)
    assert explicit_reference(later(*range(30)), rivals) is None


def test_an_explicit_phrase_means_nothing_below_20_percent_or_2_phrases() -> None:
    session = later(*range(30), explicit=True)
    assert explicit_reference(session, [near("below", 5, 26), near("one", 1, 1)]) is None
    assert explicit_reference(session, [near("just", 5, 25)]) == Reference("later", "just", "explicit", 5, 25)


def test_equal_overlaps_are_told_apart_by_the_id() -> None:
    session = later(*range(30), explicit=True)
    found = explicit_reference(session, [near("b", 3, 9), near("a", 2, 6), near("c", 4, 12)])
    assert found is not None
    assert found.target == "a"


def test_a_session_counts_once_for_another_explicit_before_implicit() -> None:
    # One says it and repeats it: 1; one repeats it: ½; one says it: 1.
    edges = [("x", "explicit"), ("x", "implicit"), ("y", "implicit"), ("z", "explicit")]
    assert counted(Reference(source, "t", kind, 3, 4) for source, kind in edges) == 2.5  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "needs", "leads"), [(3, 3, 3), (5, 4, 4), (10, 7, 6), (30, 19, 14), (2, 3, 2)])
def test_so_many_leading_phrases_hold_three_of_those_that_are_shared(size: int, needs: int, leads: int) -> None:
    assert (needed(size), leading(size)) == (needs, leads)
