"""`querymill calibrate` and `calibrate-files`: the profiles they write are those that workers read."""

import json
from pathlib import Path
from typing import Any

import pytest

from querymill_evaluation.calibration import sample_comparisons
from querymill_workers.inference.calibrations import calibration_of
from querymill_workers.retrievers.files.profiles import file_profiles
from tests.fixtures.command_line import CommandLine
from tests.fixtures.evaluation_sets import write_set

pytestmark = pytest.mark.usefixtures("worker", "openai_server")
MODEL = "multilingual-e5-small"


def chats(folder: Path) -> Path:
    def message(name: str, text: str) -> dict[str, Any]:
        return {"_id": name, "text": text, "metadata": {"session_id": "s"}}

    corpus = [message(f"m{n}", f"crane number {n} was bought") for n in range(9)]
    queries = [{"_id": "q", "text": "crane number 3 bought", "metadata": {"session_id": "s"}}]
    return write_set(folder, corpus=corpus, queries=queries, qrels={"q": {"m3": 1}})


def test_a_model_is_calibrated_by_the_pairs_and_by_a_set(querymill: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "profile.json"
    run = querymill("calibrate", "--model", MODEL, "--set", chats(tmp_path / "chats"), "--out", out, "--json")
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)
    assert printed.pop("path") == str(out)
    assert printed == json.loads(out.read_text())
    of_the_pairs = sum(pair.related for pair in sample_comparisons())
    assert printed["related"]["pairs"] == of_the_pairs + 1
    assert printed["related"]["p50"] > printed["unrelated"]["p50"]
    calibration = calibration_of(MODEL, str(out))
    assert [list(point) for point in calibration.points] == printed["points"]
    assert calibration.similarity(1.0) == 1.0


def test_a_reader_is_told_where_the_profile_is(querymill: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "profile.json"
    run = querymill("calibrate", "--model", MODEL, "--out", out)
    assert run.returncode == 0, run.stderr
    related, unrelated, points, place = run.stdout.splitlines()
    assert (related.split()[:2], unrelated.split()[0]) == (["related", "pairs"], "unrelated")
    assert points.startswith("raw cosine → similarity: ")
    assert points.endswith("1.0 → 1.0")
    assert place == f"written to {out}; workers read it from QUERYMILL_CALIBRATION"


def test_a_model_that_the_workers_do_not_embed_with_is_refused(querymill: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "profile.json"
    run = querymill("calibrate", "--model", "another-model", "--out", out)
    assert run.returncode == 2
    assert f"--model: the workers embed with '{MODEL}', not with 'another-model'" in run.stderr
    assert not out.exists()


def test_a_folder_that_is_no_set_is_refused_before_anything_is_embedded(querymill: CommandLine, tmp_path: Path) -> None:
    run = querymill("calibrate", "--model", MODEL, "--set", tmp_path)
    assert (run.returncode, "--set: " in run.stderr, "qrels.tsv" in run.stderr) == (2, True, True)


def sources(folder: Path, judged: dict[str, dict[str, int]]) -> Path:
    def file(path: str, text: str) -> dict[str, Any]:
        return {"_id": path, "title": path, "text": text, "metadata": {"path": path}}

    corpus = [
        file("cranes.py", "def buy_cranes():\n    return order_seven_cranes()\n"),
        file("ships.py", "# cranes load ships\ndef count_ships():\n    return fleet_size()\n"),
        file("quays.py", "# ships lie at quays\ndef repair_quays():\n    return mason()\n"),
    ]
    queries = [{"_id": "q1", "text": "buy cranes"}, {"_id": "q2", "text": "count ships"}]
    return write_set(folder, corpus=corpus, queries=queries, qrels=judged)


JUDGED = {"q1": {"cranes.py": 1}, "q2": {"ships.py": 1}}


@pytest.mark.parametrize(
    "vectors", [pytest.param(False, marks=pytest.mark.nightly, id="words"), pytest.param(True, id="words and vectors")]
)
def test_the_evidence_for_files_is_weighed_by_a_set(querymill: CommandLine, tmp_path: Path, vectors: bool) -> None:
    out = tmp_path / "files.json"
    folder = sources(tmp_path / f"weigh{vectors}", JUDGED)
    run = querymill("calibrate-files", folder, "--out", out, *(["--vectors"] if vectors else []), "--json")
    assert run.returncode == 0, run.stderr
    written = json.loads(out.read_text())
    assert json.loads(run.stdout) == written | {"path": str(out)}
    assert list(written["words"]["weights"]) == ["fields", "definitions"]
    assert written["words"]["relevant"]["files"] == 2
    assert ("vectors" in written) == vectors
    profiles = file_profiles(str(out))
    assert dict(profiles.words.weights) == written["words"]["weights"]
    assert (profiles.vectors is not None) == vectors
