"""What a session holds is what its writes give in the order of acceptance, whichever is applied last."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.retrievers.conversations.history import (
    Acceptance,
    History,
    add_live,
    forget_before,
    put_whole,
    session_of,
)

BEGAN = datetime(2026, 1, 1, 10, tzinfo=UTC)
#: A write: "whole", "live" or "drop", and its messages with their texts.
Write = tuple[str, dict[str, str]]


def at(number: int) -> Acceptance:
    return number, "job"


def messages(texts: dict[str, str]) -> list[dict[str, str]]:
    return [{"message_id": name, "text": text} for name, text in texts.items()]


def whole(**texts: str) -> ChatSession:
    return ChatSession.model_validate({"session_id": "s", "started_at": BEGAN, "messages": messages(texts)})


def live(texts: dict[str, str] | None = None, **fields: object) -> SessionExtension:
    return SessionExtension.model_validate({"session_id": "s", "messages": messages(texts or {"x": "x"}), **fields})


def texts_of(history: History) -> dict[str | None, str]:
    session = session_of("s", history)
    return {} if session is None else {message.message_id: message.text for message in session.messages}


class Held:
    """A session and the versions that `versions` would know of it."""

    def __init__(self) -> None:
        self.history, self.known, self.dropped = History(), at(0), at(0)

    def apply(self, write: Write, version: Acceptance) -> None:
        deed, texts = write
        if version < max(self.known, self.dropped):
            self.dropped = max(self.dropped, version) if deed == "drop" else self.dropped
        elif deed == "drop":
            self.history, self.dropped = forget_before(self.history, version), version
        elif deed == "whole":
            self.history, self.known = put_whole(self.history, whole(**texts), version), version
        else:
            self.history = add_live(self.history, live(texts, started_at=BEGAN), version)


def test_the_worked_example() -> None:
    writes: list[Write] = [
        ("whole", {"a": "a", "b": "b"}), ("live", {"c": "c"}), ("live", {"a": "a'"}), ("whole", {"a": "a", "d": "d"}),
        ("live", {"c": "c'"}),
    ]  # fmt: skip
    for order in ([1, 2, 3, 4, 5], [5, 2, 4, 1, 3]):
        held = Held()
        for number in order:
            held.apply(writes[number - 1], at(number))
        assert list(texts_of(held.history).items()) == [("a", "a"), ("d", "d"), ("c", "c'")]


parts = st.dictionaries(st.sampled_from("abcd"), st.text("xyz", max_size=2), min_size=1, max_size=3)
writes_ = st.lists(st.tuples(st.sampled_from(["whole", "live", "live", "drop"]), parts), min_size=1, max_size=7)


@given(writes_, st.randoms())
def test_in_any_order_writes_give_what_they_give_in_their_own(writes: list[Write], chance: object) -> None:
    in_order: dict[str, str] = {}
    for deed, texts in writes:
        in_order = {"whole": texts, "live": in_order | texts, "drop": {}}[deed]
    held, shuffled = Held(), list(enumerate(writes, start=1))
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # a Random of hypothesis
    for number, write in shuffled:
        held.apply(write, at(number))
        held.apply(write, at(number))  # a second attempt changes nothing
    assert list(texts_of(held.history).items()) == list(in_order.items())


def test_a_text_that_was_replaced_is_kept_nowhere() -> None:
    history = put_whole(History(), whole(a="secret", b="b"), at(1))
    history = add_live(history, live({"c": "secret too"}), at(2))
    history = add_live(history, live({"a": "edited", "c": "edited too"}), at(4))
    history = add_live(history, live({"c": "secret, and late"}), at(3))
    assert "secret" not in repr(history)
    assert texts_of(history) == {"a": "edited", "b": "b", "c": "edited too"}


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_the_last_name_that_was_said_counts_and_a_whole_session_says_all(order: Sequence[int]) -> None:
    named = ChatSession.model_validate({
        "session_id": "s", "started_at": BEGAN, "user_name": "Ada", "messages": messages({"a": "a"})
    })  # fmt: skip
    changes: dict[int, Callable[[History], History]] = {
        1: lambda history: add_live(history, live(name="Ponds", user_name="Bea"), at(1)) if not history.whole
        else history,
        2: lambda history: put_whole(history, named, at(2)),
        3: lambda history: add_live(history, live(name="Pools"), at(3)),
    }  # fmt: skip
    history = History()
    for number in order:
        history = changes[number](history)
    session = session_of("s", history)
    assert session is not None
    assert (session.name, session.user_name, session.started_at) == ("Pools", "Ada", BEGAN)


def test_a_session_that_nobody_said_the_start_of_begins_with_its_first_update() -> None:
    def update(hour: int | None, name: str) -> SessionExtension:
        moment = None if hour is None else BEGAN.replace(hour=hour)
        return SessionExtension.model_validate({
            "session_id": "s", "messages": [{"message_id": name, "text": "x", "created_at": moment}]
        })  # fmt: skip

    late = add_live(add_live(History(), update(9, "b"), at(2)), update(11, "a"), at(1))
    session = session_of("s", late)
    assert session is not None
    assert session.started_at == BEGAN.replace(hour=11)
    without = session_of("s", add_live(History(), update(None, "a"), at(90_000_000)))
    assert without is not None
    assert without.started_at == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=90)
