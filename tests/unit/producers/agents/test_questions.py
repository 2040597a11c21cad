"""Which earlier questions of a chat a search is given."""

import pytest

from querymill.agents.questions import MAX_BEFORE_CHARS, question_of, refers_back

ALONE = "Which ships did Nordhav sell in 2021?"


@pytest.mark.parametrize(
    "question",
    ["And in 2021?", "what does it cost?", "Why?", "how about the other ones", "more details",
     "那营业成本呢？", "它涨了多少", "为什么？"],
)  # fmt: skip
def test_it_refers_back(question: str) -> None:
    assert refers_back(question)


@pytest.mark.parametrize(
    "question", [ALONE, "How did gross margin develop in 2023?", "公司二〇二二年的营业收入是多少？"]
)
def test_it_stands_by_itself(question: str) -> None:
    assert not refers_back(question)


def test_a_question_that_stands_by_itself_is_searched_alone() -> None:
    assert question_of(["How many ships has the fleet?", ALONE]) == ALONE
    assert question_of(["And?"]) == "And?"


def test_one_that_refers_back_is_searched_with_those_before_it() -> None:
    assert question_of(["Hello there, who are you then?", ALONE, "And in 2022?"]) == f"{ALONE}\nAnd in 2022?"
    assert question_of([ALONE, "And in 2022?", "why?"]) == f"{ALONE}\nAnd in 2022?\nwhy?"


def test_no_more_is_added_than_a_search_takes() -> None:
    assert question_of(["x" * (MAX_BEFORE_CHARS + 1), "why?"]) == "why?"
    assert question_of(["a?"] * 9) == "\n".join(["a?"] * 4)
