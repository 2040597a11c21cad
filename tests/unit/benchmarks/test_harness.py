"""What a benchmark prints: medians, targets, and the figures whose peer is not installed."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.benchmarks import bench_bm25, bench_limits, bench_vectors, harness, many_messages

TARGETS = {"ours_ms": ("<=", 10.0), "recall": (">=", 0.9)}


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a benchmark with ``--json``; give the exit code and what it printed."""

    def run(figures: Iterator[harness.Figures], left_out: harness.LeftOut | None = None) -> tuple[int, Any]:
        monkeypatch.setattr(sys, "argv", ["bench", "--json", "--repeats", "3"])
        code = harness.run("made", lambda: next(figures), TARGETS, left_out)
        return code, json.loads(capsys.readouterr().out)

    return run


def test_figures_are_medians_and_every_target_must_be_met(report: Any) -> None:
    code, printed = report(iter([{"ours_ms": ms, "recall": 0.95} for ms in (30.0, 9.0, 8.0)]))
    assert code == 0
    assert printed["figures"] == {"ours_ms": 9.0, "recall": 0.95}
    assert printed["targets"] == {"ours_ms": ["<=", 10.0], "recall": [">=", 0.9]}
    assert (printed["met"], printed["repeats"], printed["left_out"]) == (True, 3, {})
    code, printed = report(iter([{"ours_ms": 9.0, "recall": 0.5}] * 3))
    assert (code, printed["met"]) == (1, False)


def test_a_figure_without_its_peer_is_left_out_by_name_with_its_target(report: Any) -> None:
    absent = {"faiss": ["recall", "faiss_ms"]}
    code, printed = report(iter([{"ours_ms": 9.0}] * 3), absent)
    assert code == 0
    assert printed["figures"] == {"ours_ms": 9.0}
    assert printed["left_out"] == absent
    assert printed["targets"] == {"ours_ms": ["<=", 10.0]}
    assert printed["met"]


def test_the_targets_that_are_left_still_count(report: Any) -> None:
    code, printed = report(iter([{"ours_ms": 11.0}] * 3), {"faiss": ["recall"]})
    assert (code, printed["met"]) == (1, False)


def test_a_target_whose_figure_is_missing_without_a_reason_is_an_error(report: Any) -> None:
    with pytest.raises(KeyError, match="recall"):
        report(iter([{"ours_ms": 9.0}] * 3))


def test_a_reader_is_told_what_is_left_out_and_what_is_met(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--repeats", "1"])
    assert harness.run("made", lambda: {"ours_ms": 9.0}, TARGETS, {"faiss": ["recall", "faiss_ms"]}) == 0
    _, figure, left_out = capsys.readouterr().out.splitlines()
    assert figure.endswith("target <= 10.0  met")
    assert left_out == "  left out, faiss is not installed (make bench installs it): recall, faiss_ms"


def test_a_peer_that_is_installed_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert harness.needing("json", ["json_ms"]) == {}
    assert harness.needing("no_such_peer", ["peer_ms"]) == {"no_such_peer": ["peer_ms"]}
    monkeypatch.setitem(sys.modules, "bm25s", None)
    assert not harness.is_installed("bm25s")


def test_every_figure_of_a_peer_and_every_target_on_one_is_named() -> None:
    sizes = ["100k", "1m"]
    faiss = bench_vectors.peer_figures(sizes)
    assert {figure for figure in bench_vectors.TARGETS if "recall" in figure} <= set(faiss)
    assert {"faiss_flat_p50_ms_100k", "faiss_flat_p50_ms_1m", "recall_at_10_1m"} <= set(faiss)
    assert bench_bm25.peer_figures(sizes) == [
        "bm25s_p50_ms_100k", "bm25s_p99_ms_100k", "bm25s_add_one_ms",
        "bm25s_p50_ms_1m", "bm25s_p99_ms_1m", "bm25s_add_one_ms_1m",
    ]  # fmt: skip
    assert not set(bench_limits.PEER_FIGURES) & set(bench_limits.TARGETS)


def test_without_langchain_nothing_is_measured_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, bench_limits.PEER, None)
    # Port 1 answers nobody: asking the provider would fail.
    assert bench_limits.beside("http://127.0.0.1:1", ["a question"]) == {}
    assert list(harness.needing(bench_limits.PEER, bench_limits.PEER_FIGURES)) == ["langchain_openai"]


@pytest.mark.parametrize("size", [1, 40, 1_000])
def test_sessions_have_as_many_messages_together_as_asked(size: int) -> None:
    made = list(many_messages.sessions(size))
    assert sum(len(session["messages"]) for session in made) == size
    assert list(many_messages.sessions(size)) == made


def test_questions_go_to_collections_that_exist_with_words_of_their_messages() -> None:
    originals = {size: many_messages.Original(f"original{size}", [f"only in {size}"]) for size in many_messages.SIZES}
    known = {name: size for size in originals for name in many_messages.names(size, 1_000_000)}
    assert sum(known.values()) == 1_000_000
    for zipf in (True, False):
        asked = many_messages.questions(originals, 1_000_000, 200, zipf=zipf)
        assert all(set(words.split()) <= {"only", "in", str(known[name])} for name, words in asked)
    assert len({name for name, _ in asked}) > 100
