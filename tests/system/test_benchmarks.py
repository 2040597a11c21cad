"""Benchmarks whose peer is not installed, each at a small size on a real server."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.fleet import workers_alive

ROOT = Path(__file__).parents[2]
#: A module that is None in `sys.modules` cannot be found: as if it were not installed.
SMALL = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))
from tests.benchmarks import bench_{name} as bench
bench.SIZES = {{"100k": 600}}
sys.argv = ["bench", "--json", "--repeats", "1"]
bench.main()
"""


def small(name: str, *absent: str) -> dict[str, Any]:
    """Run a benchmark at a small size without some packages, and read what it prints."""
    command = [sys.executable, "-c", SMALL.format(name=name, absent=absent)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return printed


@pytest.mark.nightly
def test_without_faiss_the_recall_and_its_targets_are_left_out_and_ours_is_timed() -> None:
    printed = small("vectors", "faiss")
    assert printed["left_out"] == {
        "faiss": [
            "recall_at_10_100k", "filtered_1pct_recall_100k", "filtered_10pct_recall_100k", "faiss_flat_p50_ms_100k",
        ]
    }  # fmt: skip
    assert not set(printed["left_out"]["faiss"]) & set(printed["figures"])
    assert {"p50_ms_100k", "sql_p50_ms_100k", "ratio_to_sql_100k"} <= set(printed["figures"])
    assert list(printed["targets"]) == ["ratio_to_sql_100k", "beside_ratio_10k"]


@pytest.mark.nightly
@pytest.mark.parametrize("absent", [(), ("bm25s",)], ids=["with bm25s", "without bm25s"])
def test_bm25s_is_measured_where_it_is_installed_and_else_named(absent: tuple[str, ...]) -> None:
    printed = small("bm25", *absent)
    measured = {name for name in printed["figures"] if name.startswith("bm25s_")}
    named = {name for names in printed["left_out"].values() for name in names}
    expected = {"bm25s_p50_ms_100k", "bm25s_p99_ms_100k", "bm25s_add_one_ms"}
    assert (measured, named) == ((set(), expected) if absent else (expected, set()))
    assert {"p50_ms_100k", "ts_rank_p50_ms_100k", "add_one_ms"} <= set(printed["figures"])


def test_a_worker_that_ends_before_it_comes_up_is_not_waited_for(valkey_url: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
        with pytest.raises(ChildProcessError, match="ended before it came up"):
            workers_alive(valkey_url, [ended], within_s=60)


#: The same, with few waiters: in threads, in coroutines and with a connection for each.
FEW_WAITERS = """
import sys
sys.modules["procrastinate"] = None
from tests.benchmarks import bench_waiters as bench
bench.WAITERS, bench.RATE = 60, 100
sys.argv = ["bench", "--json", "--repeats", "1"]
bench.main()
"""


@pytest.mark.nightly
def test_waiters_are_served_by_few_connections_and_the_peer_is_named() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FEW_WAITERS], cwd=ROOT, capture_output=True, text=True, timeout=150, check=False
    )
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    figures = printed["figures"]
    assert {way: figures[f"failed_{way}"] for way in ("sync", "async", "connections")} == {
        "sync": 0, "async": 0, "connections": 0,
    }  # fmt: skip
    assert max(figures["connections_per_process_sync"], figures["connections_per_process_async"]) <= 4
    assert figures["connections_per_process_connections"] >= 60
    assert "failed_procrastinate" in printed["left_out"]["procrastinate"]


#: The same, in seconds.
SHORT_SCALE = """
import sys
from tests.benchmarks import bench_scale as bench
bench.WARM_S, bench.COUNTED_S = 1.0, 2.0
sys.argv = ["bench", "--json", "--repeats", "1"]
bench.main()
"""
#: The same, among few messages.
FEW_MESSAGES = """
import sys
from querymill_workers.postgres import vector_index
from tests.benchmarks import growing, many_messages
vector_index.LARGE_ROWS = growing.LARGE_ROWS = 100
many_messages.SIZES.clear()
many_messages.SIZES.update({50: 0.5, 200: 0.5})
growing.QUESTIONS = 20
sys.argv = ["bench", "--json", "--repeats", "1", "--messages", "2000"]
growing.main(2000)
"""
#: The same, with few jobs.
FEW_JOBS = """
import sys
from tests.benchmarks import bench_costs as bench
bench.JOBS, bench.IDLE_S = 8, 0.5
bench.DOCUMENTS.update(dict.fromkeys(bench.DOCUMENTS, 6))
sys.argv = ["bench", "--json", "--repeats", "1"]
bench.main()
"""


def printed_by(script: str) -> dict[str, Any]:
    """Run a benchmark by a script, and read what it prints."""
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return printed


@pytest.mark.nightly
def test_each_number_of_worker_processes_ends_jobs_and_is_compared_with_one() -> None:
    printed = printed_by(SHORT_SCALE)
    figures = printed["figures"]
    assert min(figures[f"jobs_per_s_{n}"] for n in (1, 2, 4)) > 0
    assert min(figures[f"{name}_per_job_{n}"] for n in (1, 2, 4) for name in ("processor_ms", "board_bytes")) > 0
    assert printed["targets"] == {"efficiency_2": [">=", 0.9], "efficiency_4": [">=", 0.9]}
    assert figures["efficiency_4"] == pytest.approx(figures["jobs_per_s_4"] / 4 / figures["jobs_per_s_1"], abs=0.02)


@pytest.mark.nightly
def test_searches_are_timed_among_a_tenth_of_the_messages_and_among_all() -> None:
    printed = printed_by(FEW_MESSAGES)
    figures = printed["figures"]
    assert (figures["messages_at_a_tenth"], figures["messages"]) == (300, 2_000)
    assert (figures["collections_at_a_tenth"], figures["collections"]) == (3, 25)
    assert figures["search_p50_ratio"] == pytest.approx(
        figures["search_p50_ms"] / figures["search_p50_ms_at_a_tenth"], abs=0.02
    )
    assert printed["targets"] == {"search_p50_ratio": ["<=", 1.5]}


@pytest.mark.nightly
def test_a_job_of_each_kind_has_its_costs() -> None:
    figures = printed_by(FEW_JOBS)["figures"]
    kinds = ("messages", "conversations", "reports", "files", "modules")
    for name in ("worker_ms", "board_ms", "postgres_ms", "board_bytes"):
        assert all(figures[f"search_{kind}_{name}"] > 0 for kind in kinds), name
    assert all(figures[f"ingest_{kind}_{name}"] > 0 for kind in kinds for name in ("worker_ms", "stored_bytes"))
    # HyDE and three methods ask the chat model once each.
    assert figures["search_reports_expanded_chat_calls"] == 4
    assert figures["search_reports_chat_calls"] == 0
