"""From judged files to a profile: the weights of the evidence, and the bands."""

import itertools
import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from querymill_evaluation.file_calibration import VECTORS, WORDS, JudgedFile, bands, fit_weights, profile, weighted
from querymill_workers.retrievers.files.profiles import file_profiles

NAMES = ("fields", "definitions", "vector")
EVIDENCE = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2)
QUERY = st.lists(st.tuples(EVIDENCE, st.booleans()), min_size=2, max_size=8)


def judged_files(queries: int = 60) -> list[JudgedFile]:
    """Candidates whose evidence tells, with some noise, which of a query are relevant.

    The longer a query, the more evidence of `fields` have all of its candidates, relevant or not.
    """
    chance = random.Random(2026)
    files = []
    for query in range(queries):
        length = 20 * chance.random()
        for _ in range(10):
            fields, definitions, vector = (chance.random() for _ in NAMES)
            relevant = 3 * fields + definitions + 2 * vector + chance.gauss(0, 0.3) > 4.2
            evidence = {"fields": length + fields, "definitions": definitions, "vector": vector}
            files.append(JudgedFile(str(query), evidence, relevant))
    return files


def test_the_weights_compare_candidates_of_one_query() -> None:
    # Fitted over all queries at once, `fields` got next to nothing: the longest queries have most of it.
    weights = profile(judged_files(), NAMES)["weights"]
    assert weights["fields"] > 2 * weights["definitions"]
    assert weights["fields"] > weights["vector"] > weights["definitions"]


def test_the_order_by_the_weights_is_compared_with_that_of_equal_ones() -> None:
    measured = profile(judged_files(), NAMES)["ndcg@10"]
    assert 1 >= measured["fitted"] > measured["equal"] > 0


def test_two_candidates_are_told_apart_as_by_hand() -> None:
    # Evidence 1 and 0: the weight w ends where the chance still missing, 1 / (e^w + 1), is the ridge's pull, 0.1 w.
    [weight] = fit_weights([([[1.0], [0.0]], [True, False])])
    assert 1 / (math.exp(weight) + 1) == pytest.approx(0.1 * weight)
    assert weight == pytest.approx(1.6335, abs=1e-4)


@given(st.lists(QUERY, min_size=1, max_size=6))
def test_no_other_weights_nearby_fit_better(queries: list[list[tuple[list[float], bool]]]) -> None:
    candidates = [([row for row, _ in query], [label for _, label in query]) for query in queries]
    assume(any(any(labels) and not all(labels) for _, labels in candidates))
    weights = fit_weights(candidates)

    def loss(tried: list[float]) -> float:
        total = 0.05 * sum(weight * weight for weight in tried)
        for rows, labels in candidates:
            if any(labels) and not all(labels):
                sums = weighted(rows, tried)
                whole = math.log(sum(math.exp(value) for value in sums))
                total += sum(whole - value for value, label in zip(sums, labels, strict=True) if label)
        return total

    for place, step in itertools.product(range(2), (-0.01, 0.01)):
        beside = [weight + (step if column == place else 0.0) for column, weight in enumerate(weights)]
        assert loss(weights) <= loss(beside)


def test_missing_evidence_counts_as_nought() -> None:
    missing = JudgedFile("1", {"fields": 0.5, "definitions": 0.5, "vector": None}, relevant=False)
    nought = JudgedFile("1", {"fields": 0.5, "definitions": 0.5, "vector": 0.0}, relevant=False)
    assert profile([*judged_files(), missing], NAMES) == profile([*judged_files(), nought], NAMES)


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
    with pytest.raises(ValueError, match="do not tell candidates of a query apart"):
        profile([JudgedFile("q", {"fields": 1.0}, relevant=relevant)], ["fields"])


def test_the_command_fits_the_evidence_that_the_rules_weigh() -> None:
    # It once went on fitting evidence that the profile of the package no longer weighed.
    built_in = file_profiles()
    assert tuple(built_in.words.weights) == WORDS
    assert built_in.vectors is not None
    assert tuple(built_in.vectors.weights) == VECTORS
