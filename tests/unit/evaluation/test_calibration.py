"""From measured pairs to the calibration of a model."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from querymill_evaluation.calibration import cosine, fit_points, profile, sample_comparisons, set_comparisons
from querymill_workers.text.calibration import Calibration


def message(name: str, session: str, **metadata: Any) -> dict[str, Any]:
    known = {"session_id": session, "created_at": "2026-01-01T00:00:00", "message_role": "user"}
    return {"_id": name, "text": f"text of {name}", "metadata": known | metadata}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [message("a", "s"), message("b", "s"), message("c", "t")]
    queries = [
        {"_id": "q1", "text": "one", "metadata": {"session_id": "s", "exclude_message_id": "a"}},
        {"_id": "q2", "text": "two", "metadata": {"session_id": "t"}},
        {"_id": "q3", "text": "not judged", "metadata": {"session_id": "t"}},
    ]
    for name, lines in (("corpus", corpus), ("queries", queries), ("queries_unanswerable", queries[2:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tb\t1\nq2\tc\t1\n")
    return tmp_path


def test_points_rise_from_unrelated_to_equal() -> None:
    unrelated = [0.70 + number / 1000 for number in range(101)]
    related = [0.80 + number / 1000 for number in range(101)]
    points = fit_points(related, unrelated)
    assert points == [(0.7, 0.0), (0.775, 0.4), (0.825, 0.6), (0.85, 0.8), (1.0, 1.0)]


def test_pairs_that_overlap_still_give_a_map_that_rises() -> None:
    points = fit_points([0.7, 0.71, 0.72], [0.8, 0.85, 0.9])
    assert all(left < right for left, right in itertools.pairwise(points))
    with pytest.raises(ValueError, match="no room below 1"):
        fit_points([1.0, 1.0], [1.0, 1.0])


COSINES = st.lists(st.floats(-1.0, 0.98), min_size=2, max_size=40)


@given(related=COSINES, unrelated=COSINES)
def test_the_map_rises_whatever_was_measured(related: list[float], unrelated: list[float]) -> None:
    assume(max(*related, *unrelated) < 0.98)
    points = fit_points(related, unrelated)
    assert [similarity for _, similarity in points] == [0.0, 0.4, 0.6, 0.8, 1.0]
    assert all(left[0] < right[0] for left, right in itertools.pairwise(points))
    assert points[0][0] == pytest.approx(min(unrelated), abs=1e-4)
    assert points[-1] == (1.0, 1.0)


def test_the_workers_take_what_is_written_as_a_calibration() -> None:
    written = profile("m", [0.8, 0.9, 0.85], [0.5, 0.6])
    calibration = Calibration(tuple((raw, similarity) for raw, similarity in written["points"]))
    assert calibration.similarity(0.5) == 0.0
    assert calibration.similarity(0.85) == pytest.approx(0.8)
    assert calibration.similarity(1.0) == 1.0


def test_each_sample_query_has_one_related_message_and_the_others_are_not() -> None:
    comparisons = sample_comparisons()
    related = [one for one in comparisons if one.related]
    assert len(related) ** 2 == len(comparisons)
    assert len({one.query for one in related}) == len({one.message for one in related}) == len(related) >= 30


def test_a_sets_judgements_are_the_related_pairs(folder: Path) -> None:
    comparisons = set_comparisons(folder, max_queries=9)
    assert {(one.query, one.message) for one in comparisons if one.related} == {
        ("one", "text of b"), ("two", "text of c"),
    }  # fmt: skip
    assert not {(one.query, one.message) for one in comparisons if not one.related} & {("one", "text of b")}


def test_a_profile_tells_what_it_was_measured_on() -> None:
    written = profile("m", [0.8, 0.9, 0.85], [0.5, 0.6])
    assert (written["model"], written["related"]["pairs"], written["unrelated"]["greatest"]) == ("m", 3, 0.6)
    assert json.loads(json.dumps(written)) == written


def test_cosine_of_vectors() -> None:
    assert cosine([3, 4], [6, 8]) == pytest.approx(1)
    assert cosine([1, 0], [0, 2]) == 0
    assert cosine([0, 0], [1, 2]) == 0
