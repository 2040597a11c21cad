"""The parts of `make eval` that need no server: samples, baselines, the rule, the page."""

import re
from pathlib import Path
from typing import Any

import pytest

from querymill_evaluation.runs import QueryOutcome, RunHead, append_outcome, begin_run
from querymill_evaluation.sets import read_parts
from tests.fixtures.evaluation_sets import write_set
from tests.quality.baselines import BM25, WINDOW, WINDOWS, fused, windows
from tests.quality.plots import Mark, interval_plot
from tests.quality.report import write_page
from tests.quality.results import BASELINE, COST, folder_of, rows_of
from tests.quality.samples import sampled
from tests.quality.stages import DEFAULTS, DevSet, stages_of
from tests.quality.verdicts import Judged, judge

FILES = DevSet("code", "files")
QUESTIONS = [f"q{number:02}" for number in range(20)]


def measured(out: Path, chosen: DevSet, name: str, ranks: list[int]) -> None:
    """Write the finished run of a stage that has the right document at these ranks; 0 is nowhere."""
    folder = folder_of(out, chosen.label, name)
    head = RunHead(set=chosen.folder, kind=chosen.kind, questions="f", asked=len(ranks), release="abc")
    begin_run(folder, head)
    for query, rank in zip(QUESTIONS, ranks, strict=False):
        scores = {f"other{n}": 1 / n for n in range(1, max(rank, 1))} | ({"right": 1 / rank} if rank else {})
        append_outcome(folder, QueryOutcome(query, scores, 9.0, 1, 5, degraded=False), {query: {"right": 1}})
    if name not in BASELINE:
        (folder / COST).write_text('{"p50_ms": 10.0, "calls": 1.0, "tokens": 30.0}')


def judged(out: Path, *sets: DevSet) -> Judged:
    stage = next(stage for stage in stages_of("files", chat=False) if stage.name == "+ vectors")
    found = judge(stage, {chosen.label: rows_of(out, chosen, chat=False) for chosen in sets})
    assert found is not None
    return found


def test_a_stage_that_gains_and_loses_nowhere_earns_its_cost(tmp_path: Path) -> None:
    measured(tmp_path, FILES, DEFAULTS, [2] * 20)
    measured(tmp_path, FILES, "+ vectors", [1] * 15 + [2] * 5)
    found = judged(tmp_path, FILES)
    assert (found.verdict, found.tone) == ("earns its cost", "good")
    assert found.remark == "Off by default, though it gained in this run."
    assert found.cost["p50_ms"] == found.cost_before["p50_ms"] == 10.0


def test_a_stage_that_loses_on_one_set_does_not_whatever_it_gains_elsewhere(tmp_path: Path) -> None:
    other = DevSet("other", "files")
    measured(tmp_path, FILES, DEFAULTS, [10] * 20)
    measured(tmp_path, FILES, "+ vectors", [1] * 20)
    measured(tmp_path, other, DEFAULTS, [1] * 20)
    measured(tmp_path, other, "+ vectors", [2] * 15 + [1] * 5)
    found = judged(tmp_path, FILES, other)
    assert found.pooled.low > 0
    assert found.verdict == "better on code, worse on other"


def test_a_stage_that_changes_nothing_shows_no_gain(tmp_path: Path) -> None:
    measured(tmp_path, FILES, DEFAULTS, [1, 2] * 10)
    measured(tmp_path, FILES, "+ vectors", [2, 1] * 10)
    assert (judged(tmp_path, FILES).verdict, judged(tmp_path, FILES).remark) == ("no gain shown", "")


def test_a_run_that_is_not_finished_is_not_on_the_page(tmp_path: Path) -> None:
    measured(tmp_path, FILES, DEFAULTS, [1] * 20)
    head = RunHead(set="code", kind="files", questions="f", asked=20, release="abc")
    begin_run(folder_of(tmp_path, FILES.label, "+ vectors"), head)
    assert [row.name for row in rows_of(tmp_path, FILES, chat=False)] == [DEFAULTS]


def test_the_page_shows_sets_stages_and_plots_and_loads_nothing(tmp_path: Path) -> None:
    for name in BASELINE:
        measured(tmp_path, FILES, name, [3] * 20)
    measured(tmp_path, FILES, DEFAULTS, [2] * 20)
    measured(tmp_path, FILES, "+ vectors", [1] * 20)
    page = tmp_path / "page.html"
    write_page(page, tmp_path, [FILES, DevSet("cosqa", "files")], chat=False, failed=["tatqa: <broken>"])
    html = page.read_text(encoding="utf-8")
    assert "<strong>files</strong>, as it is by default, is better (+0.131 nDCG@10" in html
    assert "Earn their cost: + vectors." in html
    assert "Not measured: tatqa: &lt;broken&gt;" in html
    assert "not measured" in html.split("<h3>cosqa</h3>")[1]
    assert (html.count("<svg"), html.count("</svg>")) == (2, 2)
    assert all(name in html for name in (BM25, "10 → 10", "30 → 30", "Release abc"))
    assert re.findall(r"(?:https?:)?//[a-z]|<script|<link|@import|url\(", html) == []


def test_a_plot_has_a_row_for_each_mark_and_the_zero_in_sight() -> None:
    drawn = interval_plot([Mark("<a>", 0.2, 0.1, 0.3, "+0.2", "good")], title="t", zero=True)
    assert "&lt;a&gt;" in drawn
    assert drawn.count("<circle") == drawn.count('class="zero"') == 1
    assert interval_plot([Mark("a", 0.5, 0.5, 0.5, "0.5", "on")], title="t").count("<circle") == 1


def test_ranks_are_joined_as_equals_and_ties_break_on_the_id() -> None:
    # 1/61 + 1/62 for a and b alike; c has 1/63 alone.
    assert fused(["a", "b", "c"], ["b", "a"]) == ["a", "b", "c"]


def test_long_texts_are_cut_into_a_few_windows() -> None:
    assert windows("x" * 10) == ["x" * 10]
    assert [len(one) for one in windows("x" * (WINDOW + 1))] == [WINDOW, 1]
    assert len(windows("x" * WINDOW * 99)) == WINDOWS


def lines(group: str, number: int) -> list[dict[str, Any]]:
    return [{"_id": f"{group}{n}", "title": "", "text": "t", "metadata": {"g": group}} for n in range(number)]


def test_a_sample_keeps_whole_groups_and_the_questions_about_them(tmp_path: Path) -> None:
    corpus = [line for group in "abcdef" for line in lines(group, 15)]
    queries = [{"_id": f"q{group}", "text": "t", "metadata": {"g": group}} for group in "abcdef"]
    folder = write_set(
        tmp_path / "set", corpus=corpus, queries=queries, qrels={f"q{group}": {f"{group}0": 1} for group in "abcdef"}
    )
    chosen = DevSet("set", "messages", "g")
    cut = sampled(chosen, folder, tmp_path / "cut", 2)
    _, asked, kept = read_parts(cut)
    groups = {line["metadata"]["g"] for line in kept}
    assert cut.name == "set"
    assert len(kept) == 15 * len(groups) == 30
    assert {query.metadata["g"] for query in asked} == groups
    assert sampled(chosen, folder, tmp_path / "none", None) == folder


@pytest.mark.parametrize("questions", [1, 3])
def test_a_sample_without_groups_keeps_what_is_judged_and_some_others(tmp_path: Path, questions: int) -> None:
    folder = write_set(
        tmp_path / "set",
        corpus=lines("a", 200),
        queries=[{"_id": f"q{n}", "text": "t", "metadata": {}} for n in range(9)],
        qrels={f"q{n}": {f"a{n}": 1} for n in range(9)},
    )
    qrels, asked, kept = read_parts(sampled(DevSet("set", "files"), folder, tmp_path / "cut", questions))
    assert (len(asked), len(kept)) == (questions, 20 * questions)
    assert {document for query in asked for document in qrels[query.query_id]} <= {line["_id"] for line in kept}


def test_of_a_report_the_judged_pages_and_twenty_others_are_kept(tmp_path: Path) -> None:
    corpus = lines("a", 60)
    queries = [{"_id": "q", "text": "t", "metadata": {"g": "a"}}]
    folder = write_set(tmp_path / "set", corpus=corpus, queries=queries, qrels={"q": {"a59": 1}})
    _, _, kept = read_parts(sampled(DevSet("set", "reports", "g"), folder, tmp_path / "cut", 5))
    assert len(kept) == 21
    assert "a59" in {line["_id"] for line in kept}
