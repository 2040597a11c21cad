"""Which part of a passage is shown first, and what of it is marked."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill.presenting.excerpts import MAX_PASSAGE_CHARS, excerpt, marks_of, question_words


def marked(passage: str, question: str, most: int = 300) -> tuple[str, list[str]]:
    found = excerpt(passage, question, max_chars=most)
    return found.text, [found.text[start:end] for start, end in found.marks]


def test_the_sentence_that_says_most_of_the_question_is_shown() -> None:
    passage = "The fleet grew. Nine ships were sold in May. Rates fell."
    assert marked(passage, "which ships were sold?", 30) == (
        "… Nine ships were sold in May. …",
        ["ships", "sold"],
    )


def test_words_that_every_sentence_has_hardly_count() -> None:
    passage = "The ship of the line. The ship of the fleet. The tanker sank."
    assert marked(passage, "the ship of the tanker", 25)[0] == "… The tanker sank."


def test_a_row_of_a_table_is_a_line_and_rulers_are_left_out() -> None:
    table = "| year | ships |\n|---|---|\n| 2021 | 8 |\n| 2022 | 9 |"
    assert marked(table, "ships 2022")[0] == "| year | ships |\n| 2021 | 8 |\n| 2022 | 9 |"
    assert marked(table, "2022", 14) == ("… | 2022 | 9 |", ["2022"])


def test_other_endings_are_the_same_word_but_short_words_are_not() -> None:
    assert marks_of("restored by restores", question_words("restore")) == ((0, 8), (12, 20))
    assert marks_of("a cart", question_words("car")) == ()
    assert marks_of("the timeout", question_words("timeouts")) == ((4, 11),)
    assert marks_of("the time limit", question_words("timeout")) == ()


def test_words_that_frame_a_question_are_marked_only_if_it_has_no_others() -> None:
    assert question_words("What is on the board?") == {"board"}
    assert question_words("To be or not to be") == {"not"}
    assert question_words("who is who") == {"who", "is"}


def test_chinese_is_marked_where_two_characters_of_the_question_stand() -> None:
    passage = "我们昨天讨论了缓存。数据库连接池的超时设置为三十秒。然后下班了。"
    assert marked(passage, "连接池超时多少秒", 20) == ("… 数据库连接池的超时设置为三十秒。 …", ["连接池", "超时"])


def test_names_are_words_and_their_parts_too() -> None:
    assert marked("set visibility_timeout to 300", "visibility timeout")[1] == ["visibility", "timeout"]


@pytest.mark.parametrize("passage", ["", " \n ", "|---|---|"])
def test_a_passage_without_text_has_no_excerpt(passage: str) -> None:
    assert marked(passage, "ships") == ("", [])


def test_without_a_word_of_the_question_the_passage_begins() -> None:
    assert marked("One. Two. Three.", "ships", 10) == ("One. Two. …", [])


@given(st.text(), st.text(), st.integers(10, 400))
def test_an_excerpt_is_short_and_its_marks_are_places_in_order(passage: str, question: str, most: int) -> None:
    found = excerpt(passage, question, max_chars=most)
    assert len(found.text) <= most + len("… ") + len(" …")
    places = [place for mark in found.marks for place in mark]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(found.text) for start, end in found.marks)


@pytest.mark.parametrize("piece", ["a ", "restore. ", "的", "\n", "|", " ", "x"])
def test_a_hostile_passage_costs_no_more_than_a_long_one(piece: str) -> None:
    began = time.process_time()
    excerpt(piece * MAX_PASSAGE_CHARS, piece * 1_000 + "restored 的确")
    assert time.process_time() - began < 5
