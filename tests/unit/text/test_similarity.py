"""Cosine of two vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.similarity import Vector, cosine


def vector(*numbers: float) -> Vector:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (vector(3, 4), vector(6, 8), 1.0),
        (vector(3, 4), vector(-3, -4), -1.0),
        (vector(1, 0), vector(0, 2), 0.0),
        (vector(1, 0), vector(1, 1), 0.7071),
        (vector(0, 0), vector(1, 2), 0.0),
        (vector(0, 0), vector(0, 0), 0.0),
    ],
)
def test_a_cosine_by_hand(left: Vector, right: Vector, expected: float) -> None:
    assert cosine(left, right) == pytest.approx(expected, abs=1e-4)


_NUMBERS = st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=3)


@given(_NUMBERS, _NUMBERS, st.sampled_from([0.5, 2.0, 10.0]))
def test_order_and_length_do_not_matter(left: list[float], right: list[float], scale: float) -> None:
    one, other = np.array(left, np.float32), np.array(right, np.float32)
    assert cosine(one, other) == cosine(other, one)
    if np.linalg.norm(one) > 1e-3:
        assert cosine(one * np.float32(scale), other) == pytest.approx(cosine(one, other), abs=1e-3)
