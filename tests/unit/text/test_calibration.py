import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.inference.calibrations import calibration_of
from querymill_workers.text.calibration import IDENTITY, Calibration, band

BENT = Calibration(((0.7, 0.0), (0.8, 0.4), (1.0, 1.0)))


@pytest.mark.parametrize(
    ("raw", "similarity"), [(0.7, 0.0), (0.75, 0.2), (0.8, 0.4), (0.9, 0.7), (1.0, 1.0), (-1.0, 0.0), (0.69, 0.0)]
)
def test_a_cosine_is_mapped_along_straight_lines(raw: float, similarity: float) -> None:
    assert BENT.similarity(raw) == pytest.approx(similarity)


@given(raw=st.floats(-1, 1))
def test_a_model_nobody_measured_keeps_its_cosine(raw: float) -> None:
    assert IDENTITY.similarity(raw) == raw
    assert IDENTITY.floor(raw) == raw


@given(one=st.floats(-1, 1), other=st.floats(-1, 1))
def test_the_map_never_changes_the_order(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert BENT.similarity(less) <= BENT.similarity(more)


@given(raw=st.floats(0.7, 1), similarity=st.floats(0.001, 1))
def test_the_floor_is_the_cosine_from_which_a_similarity_is_reached(raw: float, similarity: float) -> None:
    assert BENT.similarity(BENT.floor(similarity)) == pytest.approx(similarity)
    if raw > BENT.floor(similarity) + 1e-9:
        assert BENT.similarity(raw) >= similarity


def test_no_cosine_is_too_low_for_the_least_similarity_and_none_reaches_more_than_the_greatest() -> None:
    assert BENT.floor(0.0) == -2.0
    assert Calibration(((0.7, 0.0), (0.9, 0.8))).floor(0.9) == 2.0


@pytest.mark.parametrize("points", [((0.8, 0.4), (0.8, 0.6)), ((0.7, 0.4), (0.8, 0.4)), ((0.8, 0.1), (0.7, 0.2))])
def test_a_map_that_does_not_rise_is_refused(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="must both rise"):
        Calibration(points)


@pytest.mark.parametrize(
    ("similarity", "name"),
    [(1.0, "exact"), (0.99, "high"), (0.8, "high"), (0.79, "medium"), (0.6, "medium"), (0.59, "low"), (0.4, "low"),
     (0.39, "unrelated"), (-0.5, "unrelated")],
)  # fmt: skip
def test_the_bands_are_those_of_the_rules(similarity: float, name: str) -> None:
    assert band(similarity) == name


def test_the_bundled_model_is_calibrated_and_others_are_not() -> None:
    bundled = calibration_of("multilingual-e5-small")
    assert bundled.similarity(0.70) < 0.4  # a cosine that nearly every pair of texts has
    assert bundled.similarity(1.0) == 1.0
    assert calibration_of("text-embedding-3-small") == IDENTITY
