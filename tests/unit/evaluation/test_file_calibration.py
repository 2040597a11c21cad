"""From judged files to a profile: the weights of the evidence, and the bands."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_evaluation.file_calibration import VECTORS, WORDS, JudgedFile, bands, fit_weights, profile
from querymill_workers.retrievers.files.profiles import file_profiles

#: Kinds of evidence whose weights a solver written by hand once fitted.
FORMER_WORDS = ("lexical", "path", "names", "passage")
FORMER = (*FORMER_WORDS, "vector")
SMALL = [[n / 10, (n * 7 % 10) / 10] for n in range(10)] * 5


def judged_files(count: int = 600) -> list[JudgedFile]:
    """Candidates whose evidence tells, with some noise, whether they are relevant."""
    chance = random.Random(2026)
    true_weights = (1.5, 0.8, 0.4, 2.0, 3.0)
    files = []
    for _ in range(count):
        evidence = [chance.random() for _ in true_weights]
        total = sum(weight * value for weight, value in zip(true_weights, evidence, strict=True))
        files.append(JudgedFile(dict(zip(FORMER, evidence, strict=True)), total + chance.gauss(0, 1.0) > 5.0))
    return files


def test_evidence_that_tells_files_apart_weighs_more_than_evidence_that_does_not() -> None:
    weights = fit_weights(SMALL, [row[0] > 0.6 for row in SMALL])
    assert weights[0] > 2 * abs(weights[1])


def test_the_weights_are_those_that_the_solver_written_by_hand_found() -> None:
    # Figures of Newton's method with elimination, which scipy replaced.
    weights = fit_weights(SMALL, [row[0] > 0.6 for row in SMALL])
    assert weights == pytest.approx([8.978203773881733, 2.9949406254505115], abs=1e-6)
    separable = fit_weights([[0.0], [0.1], [0.9], [1.0]], [False, False, True, True])
    assert separable == pytest.approx([3.298929446398709], abs=1e-6)


def test_the_profiles_are_those_that_the_solver_written_by_hand_gave() -> None:
    judged = judged_files()
    words = profile(judged, FORMER_WORDS)
    assert words["weights"] == {"lexical": 2.054, "path": 1.055, "names": 0.569, "passage": 3.238}
    assert words["bands"] == [[0.521, 0.0], [2.421, 0.2], [2.643, 0.5], [3.694, 0.8], [6.688, 1.0]]
    assert words["relevant"] == {"files": 130, "p5": 2.643, "p25": 3.694, "p50": 4.364, "p75": 4.96, "p95": 5.588}
    assert words["others"] == {"files": 470, "p5": 1.404, "p25": 2.421, "p50": 3.194, "p75": 3.973, "p95": 5.055}
    vectors = profile(judged, FORMER)
    assert vectors["weights"] == {"lexical": 2.323, "path": 0.995, "names": 0.676, "passage": 3.689, "vector": 4.489}
    assert vectors["bands"] == [[0.97, 0.0], [4.22, 0.2], [5.803, 0.5], [7.126, 0.8], [10.68, 1.0]]


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_fit_ends_where_the_slope_is_nought(scale: float) -> None:
    # Newton's method alone did not get there where evidence is in the hundreds.
    rows = [[0.1 * scale, 9.0 * scale], [10.0, 0.0], [5.0, 0.0], [20.0, 8.0 * scale]]
    labels = [False, True, False, True]
    weights = fit_weights(rows, labels)

    def slope(constant: float) -> list[float]:
        sums = [constant + sum(w * v for w, v in zip(weights, row, strict=True)) for row in rows]
        missed = [1 / (1 + np.exp(-total)) - label for total, label in zip(sums, labels, strict=True)]
        columns = [[1.0] * len(rows), *zip(*rows, strict=True)]
        ridge = [0.0, *(0.1 * weight for weight in weights)]
        return [
            sum(m * v for m, v in zip(missed, column, strict=True)) + r
            for column, r in zip(columns, ridge, strict=True)
        ]

    low, high = -100.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle)[0] > 0 else (middle, high)
    assert slope(low) == pytest.approx([0.0] * 3, abs=1e-5)


def test_missing_evidence_counts_as_nought() -> None:
    judged = [*judged_files(60), JudgedFile({**dict.fromkeys(FORMER_WORDS, 0.5), "vector": None}, relevant=False)]
    nought = [*judged[:-1], JudgedFile({**dict.fromkeys(FORMER_WORDS, 0.5), "vector": 0.0}, relevant=False)]
    assert profile(judged, FORMER) == profile(nought, FORMER)


def test_the_bands_rise_even_where_the_two_kinds_of_files_overlap() -> None:
    points = bands([1.0, 1.0, 1.0, 2.0], [1.0, 1.5, 1.5, 3.0])
    assert all(left[0] < right[0] and left[1] < right[1] for left, right in itertools.pairwise(points))


SUMS = st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=30)


@given(relevant=SUMS, others=SUMS)
def test_the_bands_rise_whatever_was_judged(relevant: list[float], others: list[float]) -> None:
    points = bands(relevant, others)
    assert [worth for _, worth in points] == [0.0, 0.2, 0.5, 0.8, 1.0]
    assert all(left[0] < right[0] for left, right in itertools.pairwise(points))
    assert points[-1][0] >= round(max(*relevant, *others), 3)


def test_three_quarters_of_the_relevant_files_are_high_and_nearly_all_medium() -> None:
    relevant, others = [float(n) for n in range(100, 200)], [float(n) for n in range(100)]
    points = {worth: total for total, worth in bands(relevant, others)}
    assert sum(total >= points[0.8] for total in relevant) == pytest.approx(75, abs=1)
    assert sum(total >= points[0.5] for total in relevant) == pytest.approx(95, abs=1)


@pytest.mark.parametrize("relevant", [True, False])
def test_a_set_that_tells_nothing_apart_is_refused(relevant: bool) -> None:
    with pytest.raises(ValueError, match="tell candidates apart"):
        profile([JudgedFile({"lexical": 1.0}, relevant=relevant)], ["lexical"])


def test_the_command_fits_the_evidence_that_the_rules_weigh() -> None:
    # It once went on fitting evidence that the profile of the package no longer weighed.
    built_in = file_profiles()
    assert tuple(built_in.words.weights) == WORDS
    assert built_in.vectors is not None
    assert tuple(built_in.vectors.weights) == VECTORS
