"""Lines of code, and the text that words are read from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.code import code_text, lines_of
from querymill_workers.retrievers.files.rules.context import shown
from querymill_workers.retrievers.files.rules.definitions import definitions_of, scored_definitions
from querymill_workers.retrievers.files.rules.intent import Intent

OTHER_BREAKS = "\f\v\x1c\x85\u2028\u2029\r"


def test_lines_are_counted_at_line_feeds_alone_as_editors_do() -> None:
    content = f"a{OTHER_BREAKS}b\n" * 60 + "needle\r\n"
    intent = Intent({"needl": 1.0}, 1.0)
    best = scored_definitions(intent, content, definitions_of(content, []))[0]
    assert best.matching == [61]
    assert best.definition.lines == (41, 61)
    assert shown("a.py", (61, 61), content) == "a.py:61-61\n```\nneedle\n```\n"


@pytest.mark.parametrize(
    ("content", "lines"),
    [("", []), ("a", ["a"]), ("a\r\nb\r\n", ["a", "b"]), ("\n", [""]), ("a\fb\n\n", ["a\fb", ""])],
)
def test_the_last_line_feed_begins_no_line(content: str, lines: list[str]) -> None:
    assert lines_of(content) == lines


@given(st.text(max_size=60))
def test_lines_are_as_many_as_a_counter_of_line_feeds_says(content: str) -> None:
    assert len(lines_of(content)) == content.count("\n") + (not content.endswith("\n") if content else 0)


@given(st.text(max_size=60))
def test_only_dots_are_split(text: str) -> None:
    assert len(code_text(text)) == len(text)
    assert all(left == right or (left, right) == (".", " ") for left, right in zip(text, code_text(text), strict=True))


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("self.channel.basic_ack", "self channel basic_ack"),
        ("a/b.py", "a/b py"),
        ("3.11.2 and 1.5", "3.11.2 and 1.5"),
        ("(.NET) end.", "(.NET) end "),
        ("x[0].y f().z 'a'.b", "x[0] y f() z 'a' b"),
    ],
)
def test_dots_of_numbers_and_before_names_stay(text: str, split: str) -> None:
    assert code_text(text) == split
