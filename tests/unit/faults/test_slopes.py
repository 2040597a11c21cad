"""Growth is told from noise, and a short fault moves no slope."""

import math
import random

import pytest

from tests.faults.soak.slopes import slope_of

MINUTE = 60.0
AN_HOUR = [number * MINUTE / 6 for number in range(360)]


def noise(seed: int) -> list[float]:
    """Noise of which neighbours are alike."""
    chance, at, found = random.Random(seed), 0.0, []
    for _ in AN_HOUR:
        at = 0.9 * at + chance.gauss(0, 1)
        found.append(at)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_leak_is_seen_through_noise(seed: int) -> None:
    leaking = slope_of(AN_HOUR, [300 + 30 * at / 3600 + each for at, each in zip(AN_HOUR, noise(seed), strict=True)])
    assert 24 < leaking.low < leaking.an_hour < leaking.high < 39
    assert not leaking.is_flat


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_flat(seed: int) -> None:
    assert slope_of(AN_HOUR, [300 + each for each in noise(seed)]).is_flat


def test_a_fault_of_some_minutes_is_no_growth() -> None:
    values = [300.0 + (200 if 1800 <= at < 2100 else 0) for at in AN_HOUR]
    assert math.isclose(slope_of(AN_HOUR, values).an_hour, 0.0)


def test_growth_that_is_sure_but_small_is_flat() -> None:
    found = slope_of(AN_HOUR, [300 + 3 * at / 3600 for at in AN_HOUR])
    assert found.low > 0
    assert found.is_flat


def test_one_sample_has_no_slope() -> None:
    with pytest.raises(ValueError, match="two samples"):
        slope_of([0.0], [1.0])
