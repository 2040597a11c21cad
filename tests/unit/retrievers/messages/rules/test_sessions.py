from datetime import UTC, datetime

from querymill_shared.contracts.sessions import message_key
from querymill_workers.retrievers.messages.rules.sessions import (
    NEIGHBOUR_LENGTH,
    Message,
    context_of,
    passages_of,
    vector_id,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(*texts: str) -> list[Message]:
    return [Message(message_key(f"m{place}", place), f"m{place}", text, NOON) for place, text in enumerate(texts)]


def test_a_context_has_two_neighbours_on_each_side() -> None:
    texts = ["a", "b", "c", "d", "e", "f"]
    assert context_of(texts, 3) == "b\nc\nd\ne\nf"
    assert context_of(texts, 0) == "a\nb\nc"
    assert context_of(["alone"], 0) == "alone"


def test_a_long_neighbour_is_cut_to_what_is_next_to_the_message() -> None:
    long = "x" * 1_000 + "y" * 1_000
    before, message, after = context_of([long, long, long], 1).split("\n")
    assert (before, after) == ("y" * NEIGHBOUR_LENGTH, "x" * NEIGHBOUR_LENGTH)
    assert message == long


def test_every_message_is_found_alone_and_amid_its_neighbours_but_empty_ones_are_not() -> None:
    found = passages_of("s", said("one", " ", "two"))
    assert [(passage.vector_type, passage.content) for passage in found] == [
        ("message", "one"), ("message", "two"), ("context", "one\ntwo"), ("context", "one\ntwo"),
    ]  # fmt: skip
    assert [passage.message_id for passage in found] == ["m0", "m2"] * 2


def test_a_passage_keeps_its_name_and_no_other_has_it() -> None:
    assert vector_id("s", "=m", "message") == vector_id("s", "=m", "message")
    names = [("s", "=m", "message"), ("s", "=m", "context"), ("s", "#m", "message"), ("s\n=m", "", "message")]
    assert len({vector_id(*name) for name in names}) == 4  # type: ignore[arg-type]


def test_a_message_without_an_id_is_named_by_its_place_and_an_empty_id_is_an_id() -> None:
    assert (message_key(None, 0), message_key("0", 5), message_key("", 5)) == ("#0", "=0", "=")
