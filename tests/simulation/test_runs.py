"""Runs of parts are added up only if the code is the same, and each seed counts once."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import scripts
from tests.simulation.mutations import MUTATIONS, Mutation, mutated
from tests.simulation.page import row_of, seeds_of_night
from tests.simulation.runs import Run, by_code, code_files, digest_of, joined

RUN = Run("1a2b", 0, 100, 25_000, (), 3.0, "abc (tree def)", "2026-11-29", "2 cores")
RANGES = st.builds(lambda start, count: range(start, start + count), st.integers(0, 30), st.integers(1, 9))


def test_only_runs_of_the_same_code_are_added_up() -> None:
    runs = [RUN, replace(RUN, code="3c4d"), replace(RUN, first=100, end=200)]
    assert by_code(runs) == [[runs[0], runs[2]], [runs[1]]]


def test_a_seed_that_was_run_twice_counts_once() -> None:
    overlapping = replace(RUN, first=50, end=250, failed=(60,))
    beyond = replace(RUN, first=1_000, end=2_000, failed=(60, 1_500), day="2026-12-01")
    row = row_of([RUN, overlapping, beyond])
    assert row[1:3] == ("1,250", "0 to 249, 1,000 to 1,999")
    assert row[4] == "2: seeds 60, 1500"
    assert row[7] == "2026-11-29 to 2026-12-01"


@given(st.lists(RANGES))
def test_joined_ranges_hold_the_same_numbers_each_once_and_never_touch(ranges: list[range]) -> None:
    found = joined(ranges)
    assert [number for each in found for number in each] == sorted({number for each in ranges for number in each})
    assert all(one.stop < other.start for one, other in pairwise(found))


def test_a_change_of_any_file_that_a_schedule_runs_is_another_code(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.py", "b.lua")]
    for file in files:
        file.write_text("return 1")
    before = digest_of(files)
    files[1].write_text("return 2")
    assert digest_of(files) != before
    files[1].write_text("return 1")
    assert digest_of(files) == before


def test_the_code_is_the_product_and_what_runs_it_but_not_what_tells_of_it() -> None:
    names = {f"{file.parent.name}/{file.name}" for file in code_files()}
    assert {"lua/claim.lua", "dispatch/sweeper.py", "events/watch.py", "simulation/keys.lua"} <= names
    assert not {"simulation/page.py", "simulation/test_runs.py"} & names


def test_twenty_nights_go_through_a_million_seeds() -> None:
    assert joined(seeds_of_night(50_000, day) for day in range(20_786, 20_806)) == [range(1_000_000)]


@pytest.mark.parametrize("mutation", [each for each in MUTATIONS if each.script], ids=lambda each: each.name)
def test_a_defect_can_be_put_into_its_script(mutation: Mutation) -> None:
    """The nightly run would end at one whose script has changed."""
    text = scripts._read(mutation.script)
    with mutated(mutation):
        assert scripts._read(mutation.script) != text
