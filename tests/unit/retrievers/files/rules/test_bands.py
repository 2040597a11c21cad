"""Bands of relevance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.bands import FLOORS, Band, band, counted, of_band


@pytest.mark.parametrize(
    ("relevance", "name"),
    [
        (1.0, "high"), (0.8, "high"), (0.7999, "medium"), (0.5, "medium"), (0.4999, "low"), (0.2, "low"),
        (0.1999, "irrelevant"), (0.0, "irrelevant"),
    ],
)  # fmt: skip
def test_bands_are_half_open(relevance: float, name: str) -> None:
    assert band(relevance) == name


def test_a_band_without_a_file_counts_nothing() -> None:
    assert counted([0.9, 0.85, 0.1]) == {"high": 2, "medium": 0, "low": 0, "irrelevant": 1}


def test_files_of_a_band_come_best_first_ties_on_the_path() -> None:
    assert of_band({"b": 0.9, "a": 0.9, "c": 0.95, "d": 0.3}, "high") == ["c", "a", "b"]


RELEVANCES = st.dictionaries(st.text("abc", min_size=1), st.floats(0, 1), max_size=12)
BANDS: tuple[Band, ...] = ("high", "medium", "low", "irrelevant")


@given(RELEVANCES)
def test_every_file_is_in_one_band(relevances: dict[str, float]) -> None:
    by_band = {name: of_band(relevances, name) for name in BANDS}
    assert sorted(path for paths in by_band.values() for path in paths) == sorted(relevances)
    assert {name: len(paths) for name, paths in by_band.items()} == counted(relevances.values())


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_relevance_is_never_a_worse_band(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert BANDS.index(band(more)) <= BANDS.index(band(less))


def test_a_floor_belongs_to_the_band_above_it() -> None:
    assert [band(floor) for floor, _ in FLOORS] == [name for _, name in FLOORS]
