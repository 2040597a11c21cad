"""From measured pairs to the calibration of a model."""

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from querymill_evaluation.calibration import (
    band_prices,
    cosine,
    cosine_at,
    folder_comparisons,
    profile,
    sample_comparisons,
    set_comparisons,
)
from querymill_evaluation.sets import BadSet
from querymill_shared.calibration import fit_points
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


POINTS = [(0.5, 0.0), (0.6, 0.4), (0.7, 0.6), (0.8, 0.8), (1.0, 1.0)]


def test_the_price_of_a_band_is_the_share_of_unrelated_pairs_that_reach_it() -> None:
    priced = band_prices(POINTS, related=[0.65, 0.9], unrelated=[0.1, 0.2, 0.7, 0.9])
    assert priced["pairs"] == {"related": 2, "unrelated": 4}
    assert [(band["similarity"], band["unrelated"], band["related"]) for band in priced["bands"]] == [
        (0.4, 0.5, 1.0), (0.6, 0.5, 0.5), (0.7, 0.25, 0.5), (0.8, 0.25, 0.5), (1.0, 0.0, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(("similarity", "cosine"), [(0.0, 0.5), (0.2, 0.55), (0.7, 0.75), (1.0, 1.0)])
def test_a_similarity_begins_at_the_cosine_of_the_map(similarity: float, cosine: float) -> None:
    assert cosine_at(POINTS, similarity) == pytest.approx(cosine)


def write_set(folder: Path, *, field: str) -> None:
    folder.mkdir(parents=True)
    messages = [{"_id": f"m{n}", "text": f"word {n}", "metadata": {field: "s"}} for n in range(9)]
    queries = [{"_id": f"q{n}", "text": "word", "metadata": {field: "s"}} for n in range(300)]
    with gzip.open(folder / "corpus.jsonl.gz", "wt") as file:
        file.write("\n".join(map(json.dumps, messages)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{n}\tm0\t1\n" for n in range(300)))


def test_the_sets_of_messages_in_a_folder_are_compared_and_no_others(tmp_path: Path) -> None:
    write_set(tmp_path / "chats", field="session_id")
    write_set(tmp_path / "code", field="repo")
    (tmp_path / "README.md").write_text("no set")
    pairs = folder_comparisons(tmp_path, max_queries=300)
    assert sum(pair.related for pair in pairs) == 300
    with pytest.raises(BadSet, match="at least 1000 are needed"):
        folder_comparisons(tmp_path, max_queries=20)
    with pytest.raises(BadSet, match="0 unrelated pairs"):
        folder_comparisons(tmp_path / "nowhere", max_queries=300)
