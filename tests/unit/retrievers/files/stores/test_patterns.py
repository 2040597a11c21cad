"""Patterns of users: whatever is written, it runs, or it is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.jobs.faults import MalformedInput, Refused
from querymill_workers.retrievers.files.ports import PatternHit
from querymill_workers.retrievers.files.stores.patterns import MAX_MATCHES, SHOWN_BYTES, Expression, glob

FILES = [("a.py", "def soup():\n    stir()\n"), ("b.py", "SOUP = 1\n"), ("船.py", "# 渲染\n")]


def search(pattern: str, files: list[tuple[str, str]] = FILES, limit: int = 9) -> list[PatternHit]:
    found = Expression.read(pattern).search(files, limit=limit, time_s=5)
    assert found.complete
    return list(found.hits)


def test_the_file_with_most_matches_comes_first_ties_by_path() -> None:
    files = [("c.py", "x"), ("a.py", "x"), ("b.py", "x x")]
    assert [(hit.path, hit.times) for hit in search("x", files)] == [("b.py", 2), ("a.py", 1), ("c.py", 1)]
    assert [hit.path for hit in search("x", files, limit=1)] == ["b.py"]


def test_counting_stops_and_the_first_line_is_cut() -> None:
    (hit,) = search("x", [("a.py", "\n" + "x" * 1_000)])
    assert (hit.times, hit.line, hit.text) == (MAX_MATCHES, 2, "x" * SHOWN_BYTES)


def test_a_character_that_is_cut_in_half_is_replaced() -> None:
    (hit,) = search("船", [("a.py", "x" + "船" * 100)])
    assert len(hit.text.encode()) <= SHOWN_BYTES + 2
    assert hit.text.startswith("x船")


def test_half_a_surrogate_pair_in_a_file_does_not_stop_the_search() -> None:
    assert [hit.path for hit in search("soup", [("a.py", "\ud800 soup")])] == ["a.py"]


@pytest.mark.parametrize("pattern", ["(", "[", r"\1", "(?=a)", "a**", "(?P<n", r"\pX"])
def test_an_expression_that_re2_cannot_read_says_so(pattern: str) -> None:
    with pytest.raises(MalformedInput, match=re.escape(f"pattern {pattern!r} cannot be read by RE2: ")):
        Expression.read(pattern)


@given(st.text(max_size=40))
def test_any_text_is_an_expression_that_runs_or_is_refused(pattern: str) -> None:
    try:
        expression = Expression.read(pattern)
    except Refused:
        return
    assert expression.search(FILES, limit=9, time_s=5).complete


@given(st.text(st.sampled_from("ab*?[]!/\\.# \n{}船"), max_size=20))
def test_any_text_is_a_path_pattern_that_runs_or_is_refused(pattern: str) -> None:
    paths = ["a.py", "a/b.py", "b/船.md"]
    try:
        matched = list(glob(pattern, paths))
    except Refused:
        return
    assert matched == [path for path in paths if path in matched]


@given(st.lists(st.sampled_from(["src", "web", "a.py", "船"]), min_size=1, max_size=4).map("/".join))
def test_a_path_matches_itself_and_every_folder_above_it(path: str) -> None:
    names = path.split("/")
    for depth in range(1, len(names) + 1):
        assert list(glob(f"/{'/'.join(names[:depth])}", [path])) == [path]
