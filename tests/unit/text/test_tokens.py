from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.tokens import cut, estimate


@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("The company reported net sales of 4,512 million dollars in fiscal 2022.", 17, 26),
        ("公司二〇二二年实现营业收入四十五亿元，同比增长百分之十二。", 18, 30),
        ("Total current assets  7,292  6,106", 10, 16),
        ("Выручка компании выросла на треть", 8, 20),
    ],
)
def test_an_estimate_is_near_what_multilingual_vocabularies_count(text: str, fewest: int, most: int) -> None:
    assert fewest <= estimate(text) <= most


@pytest.mark.parametrize("text", ["", " \n\t ", "\u3000\u200b"])
def test_blanks_cost_nothing(text: str) -> None:
    assert estimate(text) == 0


@given(st.text(), st.text())
def test_a_text_costs_at_most_what_its_parts_do(first: str, second: str) -> None:
    assert max(estimate(first), estimate(second)) <= estimate(first + second) <= estimate(first) + estimate(second)


@given(st.characters(categories=["L", "N", "P"]))
def test_anything_that_can_be_read_costs_something(character: str) -> None:
    assert estimate(character) >= 1


def test_ten_megabytes_are_estimated_in_a_moment() -> None:
    started = process_time()
    estimate("Net sales 2022 " * 600_000 + "营业收入" * 250_000)
    assert process_time() - started < 5


@given(st.text(max_size=200), st.integers(0, 60))
def test_a_cut_text_is_the_longest_beginning_within_its_tokens(text: str, most: int) -> None:
    kept = cut(text, max_tokens=most)
    assert text.startswith(kept)
    assert estimate(kept) <= most
    assert kept == text or estimate(text[: len(kept) + 1]) > most
