"""Gaps: what the high files use and no retrieved file defines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.code import Symbol
from querymill_workers.retrievers.files.rules.gaps import gaps, used_in


def test_a_gap_is_what_a_high_file_uses_and_no_retrieved_file_defines() -> None:
    found = gaps(
        {"redis.py": ["Channel", "loads", "QoS", "socket"]},
        retrieved=["redis.py", "virtual.py"],
        definers={"Channel": {"base.py"}, "loads": {"virtual.py", "other.py"}, "QoS": {"redis.py"}},
        frequency={},
        files=50,
    )
    assert set(found) == {"Channel"}


def test_a_retrieved_file_closes_a_gap_even_when_it_turned_out_irrelevant() -> None:
    uses, definers = {"redis.py": ["Channel"]}, {"Channel": {"base.py"}}
    assert gaps(uses, retrieved=["redis.py"], definers=definers, frequency={}, files=50)
    assert gaps(uses, retrieved=["redis.py", "base.py"], definers=definers, frequency={}, files=50) == {}


def test_the_rarer_a_gap_the_more_it_weighs_and_utilities_are_none() -> None:
    uses = {"a.py": ["Rare", "Known", "get_logger", "send"], "b.py": ["Rare"]}
    definers = {"Rare": {"x.py"}, "Known": {"y.py"}, "get_logger": {"log.py"}, "send": {f"{n}.py" for n in range(9)}}
    frequency = {"Rare": 2, "Known": 6, "get_logger": 30, "send": 5}
    found = gaps(uses, retrieved=["a.py", "b.py"], definers=definers, frequency=frequency, files=50)
    assert set(found) == {"Rare", "Known"}
    assert found["Rare"] > 2 * found["Known"] > 0


def test_the_names_that_lines_use_are_those_of_others() -> None:
    content = "import loads\ndef own():\n    return loads(Mutex())\ndef far():\n    return elsewhere()\n"
    symbols = [Symbol("own", "definition", "function", 2, 3), Symbol("loads", "import", "name", 1, 1)]
    symbols += [Symbol(name, "call", "call", 3, 3) for name in ("Mutex", "elsewhere")]
    assert used_in(content, [(2, 3)], symbols) == ["loads", "Mutex"]


@pytest.mark.parametrize("name", ["self", "print", "ab", "a b"])
def test_a_name_that_may_not_be_searched_is_no_gap(name: str) -> None:
    assert gaps({"a.py": [name]}, retrieved=["a.py"], definers={name: {"b.py"}}, frequency={}, files=50) == {}


NAMES = st.sampled_from(["Channel", "Mutex", "loads", "QoS", "restore"])
PATHS = st.sampled_from(["a.py", "b.py", "c.py", "d.py"])


@given(st.dictionaries(PATHS, st.sets(NAMES)), st.sets(PATHS), st.dictionaries(NAMES, st.sets(PATHS)))
def test_reading_more_files_never_opens_a_gap(
    uses: dict[str, set[str]], retrieved: set[str], definers: dict[str, set[str]]
) -> None:
    found = gaps(uses, retrieved=retrieved, definers=definers, frequency={}, files=9)
    assert set(found) <= {name for names in uses.values() for name in names}
    for path in ("a.py", "b.py", "c.py", "d.py"):
        assert set(gaps(uses, retrieved={*retrieved, path}, definers=definers, frequency={}, files=9)) <= set(found)
