"""Whether reads and writes of a document are linearisable: histories written by hand, and small ones by all orders."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.histories.operations import NEVER, Operation
from tests.faults.histories.registers import Access, TooManyStates, access_of, is_linearisable


def write(begin: float, end: float, value: str | None, *, may_be_void: bool = False) -> Access:
    return Access(begin, end, value, is_write=True, may_be_void=may_be_void)


def read(begin: float, end: float, value: str | None) -> Access:
    return Access(begin, end, value, is_write=False)


LAWFUL = {
    "nothing happened": [],
    "a document is absent at first": [read(0, 1, None)],
    "a read after a write": [write(0, 1, "a"), read(2, 3, "a")],
    "a read beside a write, before it": [write(0, 3, "a"), read(1, 2, None)],
    "a read beside a write, after it": [write(0, 3, "a"), read(1, 2, "a")],
    "writes side by side, in either order": [write(0, 3, "a"), write(0, 3, "b"), read(4, 5, "a")],
    "dropped": [write(0, 1, "a"), write(2, 3, None), read(4, 5, None)],
    "superseded: the older runs after the newer": [
        write(0, 5, "a"), write(1, 3, "b"), read(4, 6, "b"), read(7, 8, "b"),
    ],
    "a write whose end nobody saw happens late": [
        write(0, NEVER, "a", may_be_void=True), read(5, 6, None), read(7, 8, "a"),
    ],
    "a write whose end nobody saw never happens": [write(0, NEVER, "a", may_be_void=True), read(5, 6, None)],
}  # fmt: skip
UNLAWFUL = {
    "a read of what nobody wrote": [read(0, 1, "a")],
    "a done write that is not there": [write(0, 1, "a"), read(2, 3, None)],
    "an old value after a newer write": [write(0, 1, "a"), write(2, 3, "b"), read(4, 5, "a")],
    "a dropped document that comes back": [write(0, 1, "a"), write(2, 3, None), read(4, 5, None), read(6, 7, "a")],
    "reads that see two orders": [
        write(0, 9, "a"), write(0, 9, "b"), read(1, 2, "a"), read(3, 4, "b"), read(5, 6, "a"),
    ],
    "new, then old again": [write(0, 1, "a"), write(2, 9, "b"), read(3, 4, "b"), read(5, 6, "a")],
    "a void write seen, then unseen": [write(0, NEVER, "a", may_be_void=True), read(1, 2, "a"), read(3, 4, None)],
}  # fmt: skip


@pytest.mark.parametrize("name", LAWFUL)
def test_a_lawful_history_is_linearisable(name: str) -> None:
    assert is_linearisable(LAWFUL[name])


@pytest.mark.parametrize("name", UNLAWFUL)
def test_an_unlawful_history_is_not(name: str) -> None:
    assert not is_linearisable(UNLAWFUL[name])


def by_all_orders(accesses: list[Access]) -> bool:
    """Try every order, with and without what may be void."""
    void = [access for access in accesses if access.may_be_void]
    return any(
        all(before.begin <= after.end for place, after in enumerate(order) for before in order[:place])
        and explains(order)
        for left_out in range(1 << len(void))
        for order in permutations(
            [each for each in accesses if each not in {v for place, v in enumerate(void) if left_out >> place & 1}]
        )
    )


def explains(order: tuple[Access, ...]) -> bool:
    value = None
    for access in order:
        if access.is_write:
            value = access.value
        elif access.value != value:
            return False
    return True


values = st.sampled_from([None, "a", "b"])


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    begin, length = draw(st.integers(0, 9)), draw(st.integers(1, 5))
    is_write = draw(st.booleans())
    may_be_void = is_write and draw(st.booleans())
    return Access(begin, NEVER if may_be_void else begin + length, draw(values), is_write, may_be_void)


@given(st.lists(accesses(), max_size=5, unique=True))
def test_the_search_says_what_all_orders_say(history: list[Access]) -> None:
    assert is_linearisable(history) is by_all_orders(history)


def test_a_search_that_takes_too_long_is_given_up() -> None:
    history = [write(0, 9, f"v{number}") for number in range(12)] + [read(10, 11, None)]
    with pytest.raises(TooManyStates, match="13 operations"):
        is_linearisable(history, most_states=1_000)


def test_a_hundred_operations_one_after_another_are_decided_at_once() -> None:
    history = [access for n in range(0, 400, 4) for access in (write(n, n + 1, f"v{n}"), read(n + 2, n + 3, f"v{n}"))]
    assert is_linearisable(history, most_states=300)


def test_a_write_that_did_not_end_well_may_be_void_or_late() -> None:
    ended = Operation("a", "write", 1, 2, {"document": "d", "value": "x"}, {"state": "failed"})
    assert access_of(ended) == write(1, NEVER, "x", may_be_void=True)
    ended = Operation("a", "write", 1, 2, {"document": "d", "value": "x"}, {"state": "done"})
    assert access_of(ended) == write(1, 2, "x")
