"""Cutting messages into the passages that vectors are of."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.embedded_passages import (
    EMBEDDED_CHARS,
    EmbeddedPassage,
    SpokenText,
    cut_passages,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
messages = st.lists(
    st.builds(
        lambda word, times: (word * times)[:1_000], st.sampled_from(["a", "b ", "c. ", " ", "车"]), st.integers(0, 900)
    ),
    max_size=9,
)


def said(*texts: str, first: int = 0) -> list[SpokenText]:
    return [
        SpokenText(place, f"#{place}", text, START + timedelta(minutes=place))
        for place, text in enumerate(texts, start=first)
    ]


def test_neighbours_go_together_and_a_long_message_is_cut() -> None:
    passages = cut_passages(said("a" * 150, "b" * 200, "c" * 100, "d" * 900))
    assert [(each.number, each.place, each.start, len(each.text)) for each in passages] == [
        (0, 0, 0, 351), (1, 2, 0, 100), (2, 3, 0, 400), (3, 3, 400, 400), (4, 3, 800, 100),
    ]  # fmt: skip
    assert passages[0].text == f"{'a' * 150}\n{'b' * 200}"
    assert (passages[0].first_at, passages[0].last_at) == (START, START + timedelta(minutes=1))
    assert len({each.key for each in passages}) == 5


def test_a_message_after_a_cut_one_begins_a_passage() -> None:
    assert [each.place for each in cut_passages(said("d" * 500, "short", "and more"))] == [0, 0, 1]


def test_blank_texts_are_in_no_passage() -> None:
    assert cut_passages(said("", "  \n")) == []
    assert [each.text for each in cut_passages(said("a", "", "b"))] == ["a\nb"]


def test_the_key_tells_the_text_and_the_message_where_it_begins() -> None:
    (one,), (same,) = cut_passages(said("ships")), cut_passages(said("ships"))
    (elsewhere,) = cut_passages(said("ships", first=1))
    assert one.key == same.key != elsewhere.key


@given(messages, messages)
def test_messages_that_come_later_are_cut_as_if_they_had_come_at_once(first: list[str], later: list[str]) -> None:
    before = cut_passages(said(*first))
    last: EmbeddedPassage | None = before[-1] if before else None
    grown = cut_passages(said(*later, first=len(first)), after=last)
    assert before[: -1 if before else None] + grown == cut_passages(said(*first, *later))


@given(messages)
def test_every_character_but_blanks_is_in_one_passage_that_is_not_too_long(texts: list[str]) -> None:
    passages = cut_passages(said(*texts))
    assert "".join("".join(each.text for each in passages).split()) == "".join("".join(texts).split())
    assert all(len(each.text) <= EMBEDDED_CHARS for each in passages)
    assert [each.number for each in passages] == list(range(len(passages)))
