"""Paired bootstrap: what the intervals show, and what they do not."""

import numpy as np
import pytest

from querymill_evaluation.significance import Difference, interval_of_mean, paired_difference, pooled_difference


def test_a_gain_on_every_question_is_sure() -> None:
    found = paired_difference([0.1, 0.2, 0.3, 0.4], [0.3, 0.5, 0.4, 0.6])
    assert found.mean == pytest.approx(0.2)
    assert 0.1 <= found.low < found.mean < found.high <= 0.3
    assert (found.above, found.pairs, found.verdict) == (1.0, 4, "better")


def test_the_other_way_round_it_is_a_loss_as_sure() -> None:
    found = paired_difference([0.3, 0.5, 0.4, 0.6], [0.1, 0.2, 0.3, 0.4])
    assert (found.above, found.verdict) == (0.0, "worse")


def test_two_equal_runs_show_no_difference_and_a_constant_gain_has_no_width() -> None:
    assert paired_difference([0.5, 0.7], [0.5, 0.7]) == Difference(0.0, 0.0, 0.0, 0.0, 2)
    assert paired_difference([0.5, 0.7], [0.5, 0.7]).verdict == "no difference shown"
    constant = paired_difference([0.1, 0.2, 0.3], [0.2, 0.3, 0.4])
    assert (constant.low, constant.high, constant.verdict) == (0.1, 0.1, "better")


def test_one_question_of_ten_shows_nothing() -> None:
    found = paired_difference([0.0] * 10, [1.0] + [0.0] * 9)
    assert found.low == 0.0
    assert found.verdict == "no difference shown" or found.verdict == "probably better"


def test_a_difference_that_leans_to_one_side_is_called_probable() -> None:
    assert Difference(0.02, -0.005, 0.05, 0.93, 50).verdict == "probably better"
    assert Difference(-0.02, -0.05, 0.005, 0.07, 50).verdict == "probably worse"
    assert Difference(0.02, -0.03, 0.07, 0.8, 50).verdict == "no difference shown"


def test_the_interval_is_the_same_each_time_and_that_of_the_normal_law_on_many_questions() -> None:
    values = np.random.default_rng(1).normal(0.02, 0.2, 2_000)
    found = paired_difference([0.0] * len(values), list(values))
    assert found == paired_difference([0.0] * len(values), list(values))
    width = 1.96 * values.std() / len(values) ** 0.5
    assert (found.low, found.high) == pytest.approx((values.mean() - width, values.mean() + width), abs=1e-3)
    assert interval_of_mean(list(values)) == (found.low, found.high)


def test_sets_are_pooled_by_their_means_whatever_their_sizes() -> None:
    small, large = ([0.0] * 4, [0.4] * 4), ([0.0] * 100, [0.0] * 50 + [0.4] * 50)
    found = pooled_difference([small, large])
    assert found.mean == pytest.approx(0.3)
    assert found.pairs == 104
    assert found.low < 0.3 < found.high


def test_runs_that_form_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs: 1 values and 2"):
        paired_difference([0.1], [0.1, 0.2])
    with pytest.raises(ValueError, match="at least one question"):
        paired_difference([], [])
    with pytest.raises(ValueError, match="sets: there must be at least one"):
        pooled_difference([])
