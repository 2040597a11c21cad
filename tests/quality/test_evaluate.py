"""`make eval` on a small set, with the mill in memory: baselines and stages are measured, and gone on with."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill.cli.terminal import Console
from querymill.testing import MemoryMill
from querymill_evaluation.runs import QUERIES, BadRun, read_run
from tests.fixtures.evaluation_sets import write_set
from tests.quality.baselines import BM25
from tests.quality.evaluate import Plan, _finished, _measure_set
from tests.quality.report import write_page
from tests.quality.results import BASELINE, COST, folder_of, rows_of
from tests.quality.stages import DEFAULTS, DevSet, stages_of

SET = DevSet("cosqa", "files")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as world:
        yield world


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    def file(name: str, text: str) -> dict[str, Any]:
        return {"_id": name, "title": "", "text": text, "metadata": {}}

    corpus = [file("c0", "def count_ships():\n    return fleet\n"), file("c1", "def buy_cranes():\n    return order\n")]
    (tmp_path / "data").mkdir()
    write_set(
        tmp_path / "data" / "cosqa",
        corpus=corpus,
        queries=[{"_id": "q0", "text": "count the ships"}, {"_id": "q1", "text": "buy cranes"}],
        qrels={"q0": {"c0": 1}, "q1": {"c1": 1}},
    )
    return Plan(tmp_path / "data", tmp_path / "out", None, (SET,), chat=False, release="r1",
                say=Console(stderr=True, quiet=True))  # fmt: skip


def test_baselines_and_stages_are_measured_on_the_same_questions(plan: Plan, mill: MemoryMill, tmp_path: Path) -> None:
    assert not _finished(plan, SET)
    _measure_set(plan, mill, [SET])
    assert _finished(plan, SET)
    rows = {row.name: row for row in rows_of(plan.out / "runs", SET, chat=False)}
    assert list(rows) == [*BASELINE, *(stage.name for stage in stages_of("files", chat=False))]
    assert {row.run.head.questions for row in rows.values()} == {rows[DEFAULTS].run.head.questions}
    assert all(row.means["recall@10"] == 1.0 for row in rows.values())
    assert rows[DEFAULTS].difference is not None
    cost = rows["+ vectors"].cost
    assert cost is not None
    assert cost["calls"] >= 1  # a question that no stage asked before
    write_page(tmp_path / "page.html", plan.out / "runs", plan.sets, chat=False)
    assert "cosqa" in (tmp_path / "page.html").read_text()


def test_an_interrupted_run_asks_only_what_is_missing(plan: Plan, mill: MemoryMill) -> None:
    _measure_set(plan, mill, [SET])
    kept = folder_of(plan.out / "runs", SET.label, DEFAULTS)
    cut = folder_of(plan.out / "runs", SET.label, "+ vectors")
    before = (kept / QUERIES).read_text()
    first, second = (cut / QUERIES).read_text().splitlines(keepends=True)
    (cut / QUERIES).write_text(first + second[:9])
    (cut / COST).unlink()
    assert not _finished(plan, SET)
    _measure_set(plan, mill, [SET])
    assert _finished(plan, SET)
    assert (kept / QUERIES).read_text() == before
    assert (cut / QUERIES).read_text().startswith(first)
    assert set(read_run(cut).outcomes) == {"q0", "q1"}
    assert set(json.loads((cut / COST).read_text())) == {"p50_ms", "calls", "tokens"}


def test_a_set_with_too_many_windows_has_no_baseline_by_vectors(
    plan: Plan, mill: MemoryMill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("evaluate", "baselines"):
        monkeypatch.setattr(f"tests.quality.{module}.MAX_WINDOWS", 1)
    _measure_set(plan, mill, [SET])
    assert _finished(plan, SET)
    assert [row.name for row in rows_of(plan.out / "runs", SET, chat=False)][:2] == [BM25, "one round of words"]
    write_page(tmp_path / "page.html", plan.out / "runs", plan.sets, chat=False)
    assert (
        "Without the baseline “vectors”: 2 windows would take hours to embed." in (tmp_path / "page.html").read_text()
    )


def test_two_releases_are_not_mixed(plan: Plan, mill: MemoryMill) -> None:
    _measure_set(plan, mill, [SET])
    newer = Plan(plan.data, plan.out, None, plan.sets, chat=False, release="r2", say=plan.say)
    with pytest.raises(BadRun, match="measured release r1, this is r2; give FRESH=1"):
        _finished(newer, SET)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        pytest.param(
            ["/nowhere"], "DATA: /nowhere must be a folder that holds evaluation sets", marks=pytest.mark.nightly
        ),
        (["."], "DATA: . must hold at least one set that is asked for"),
        pytest.param(
            [".", "--sets", "songs"], "SETS: 'songs' is not one of: vtkjs_examples, locomo", marks=pytest.mark.nightly
        ),
        pytest.param(
            [".", "--kind", "songs"], "KIND: 'songs' is not one of: reports, modules", marks=pytest.mark.nightly
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_rule(tmp_path: Path, arguments: list[str], rule: str) -> None:
    command = [sys.executable, "-m", "tests.quality.evaluate", *arguments, "--out", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 2
    assert " ".join(run.stderr.split()).startswith(rule)
