"""Definitions as passages: where they are, how they score, and which of their lines are shown."""

import pytest

from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from querymill_workers.retrievers.files.rules.definitions import (
    AVERAGE_CHARS,
    Definition,
    definitions_of,
    lifted,
    score_of_file,
    scored_definitions,
)
from querymill_workers.retrievers.files.rules.excerpts import excerpt, shown_lines
from querymill_workers.retrievers.files.rules.intent import Intent

SOURCE = """import time

LIMIT = 3

class Consumer:
    size = 1

    @property
    def rate(self):
        def inner():
            return 1
        return inner()

    def stop(self):
        return None

def limit(task):
    return task
"""


def found(source: str = SOURCE) -> list[Definition]:
    return definitions_of(source, TreeSitterParser().parse("a.py", source).symbols)


def test_a_file_is_divided_into_definitions_and_what_is_outside() -> None:
    assert [(one.label, one.lines) for one in found()] == [
        ("", (1, 3)),
        ("Consumer", (5, 15)),
        ("Consumer.rate", (8, 12)),
        ("Consumer.stop", (14, 15)),
        ("limit", (17, 18)),
    ]
    (consumer,) = [one for one in found() if one.name == "Consumer"]
    assert consumer.own == ((5, 7), (13, 13))


def test_functions_in_a_long_function_are_definitions_of_their_own() -> None:
    long = "def outer():\n" + "    x = 1\n" * 70 + "    def inner():\n        return 2\n"
    assert [one.label for one in found(long)] == ["outer", "outer.inner"]


def test_the_score_is_that_of_the_worked_example() -> None:
    body = "task task limit".ljust(AVERAGE_CHARS, "x")
    limit = Definition("limit", "", "function", (1, 1), ((1, 1),))
    (scored,) = scored_definitions(Intent({"limit": 2.0, "task": 1.0}, 1.0), body.replace("limitx", "limit x"), [limit])
    assert scored.score == pytest.approx((2 * 4 / (4 + 0.9) + 2 / (2 + 0.9)) / 3, abs=0.01)


def test_a_file_adds_up_its_best_definitions_by_halves() -> None:
    assert score_of_file([0.4, 0.8]) == pytest.approx(1.0)
    assert score_of_file([]) == 0.0


def test_what_is_asked_for_by_name_or_line_comes_first() -> None:
    scored = scored_definitions(Intent({"limit": 1.0}, 1.0), SOURCE, found())
    assert lifted(scored, gains={}, lines=())[0].definition.label == "limit"
    assert lifted(scored, gains={"stop": 1.0}, lines=())[0].definition.label == "Consumer.stop"
    assert lifted(scored, gains={}, lines=[9])[0].definition.label == "Consumer.rate"


def test_a_long_definition_shows_its_head_and_the_statements_that_match() -> None:
    lines = ["def long(", "    a,", "):"] + [f"    step({n})" for n in range(4, 201)]
    ((first, head), (start, end)) = shown_lines([(1, 200)], [150], lines)
    assert (first, head) == (1, 24)
    assert start <= 150 <= end < 170


def test_a_cut_does_not_part_a_statement() -> None:
    lines = ["def long():"] + ["    x = 1"] * 90 + ["    call(", *["        1,"] * 30, "    )"] + ["    y = 2"] * 80
    parts = shown_lines([(1, len(lines))], [100], lines)
    assert any(first <= 92 and last >= 123 for first, last in parts)  # the whole call


def test_an_excerpt_is_the_best_definitions_without_overlap() -> None:
    assert excerpt([([(10, 20)], 1.0), ([(1, 5)], 0.6), ([(21, 30)], 0.5), ([(40, 50)], 0.5)]) == [(1, 5), (10, 30)]
    assert excerpt([([(10, 20)], 1.0), ([(1, 5)], 0.4)]) == [(10, 20)]
    assert excerpt([]) == []
