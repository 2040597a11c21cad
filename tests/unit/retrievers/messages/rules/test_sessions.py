from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.sessions import message_key
from querymill_workers.retrievers.messages.rules.sessions import (
    NEIGHBOUR_LENGTH,
    NEIGHBOURS,
    SessionMessage,
    context_of,
    passages_of,
    vector_id,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(*texts: str) -> list[SessionMessage]:
    return [
        SessionMessage(message_key(f"m{place}", place), f"m{place}", text, NOON) for place, text in enumerate(texts)
    ]


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


texts = st.lists(st.text(alphabet="ab \n", max_size=6), max_size=12)


@given(texts)
def test_every_message_with_a_text_has_a_passage_and_a_context_that_holds_it(given_texts: list[str]) -> None:
    found = passages_of("s", said(*given_texts))
    written = [text for text in given_texts if text.strip()]
    assert [passage.content for passage in found[: len(written)]] == written
    assert [passage.vector_type for passage in found] == ["message"] * len(written) + ["context"] * len(written)
    assert len({passage.vector_id for passage in found}) == len(found)
    for message, around in zip(found, found[len(written) :], strict=False):
        assert message.content in around.content
        assert message.message_id in around.around
        assert len(around.around) <= 2 * NEIGHBOURS + 1


@given(texts, st.integers(0, 11), st.text(alphabet="xy", min_size=1, max_size=3))
def test_an_edit_changes_only_the_message_and_the_contexts_that_hold_it(
    given_texts: list[str], place: int, text: str
) -> None:
    before = [f"message {number}" for number, _ in enumerate(given_texts)]
    after = [text if number == place else known for number, known in enumerate(before)]
    contents = {passage.vector_id: passage.content for passage in passages_of("s", said(*before))}
    changed = [passage for passage in passages_of("s", said(*after)) if contents[passage.vector_id] != passage.content]
    near = [number for number in range(len(before)) if abs(number - place) <= NEIGHBOURS] if place < len(before) else []
    assert [passage.message_id for passage in changed if passage.vector_type == "context"] == [f"m{n}" for n in near]
    assert len(changed) == (1 + len(near) if near else 0)
