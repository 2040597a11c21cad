"""`querymill eval --save`, and `eval compare` over saved runs and over settings: a real worker, a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.command_line import CommandLine
from tests.fixtures.evaluation_sets import write_set

pytestmark = pytest.mark.usefixtures("worker", "openai_server")
CRANES = [f"crane {name} lifts containers" for name in ("alpha", "beta", "gamma", "delta")]


def talks(folder: Path, questions: int = 4) -> Path:
    def talk(number: int, text: str) -> dict[str, Any]:
        return {"session_id": f"s{number}", "started_at": "2026-01-01T00:00:00Z", "messages": [{"text": text}]}

    return write_set(
        folder,
        corpus=[talk(number, text) for number, text in enumerate(CRANES)],
        queries=[{"_id": f"q{n}", "text": text} for n, text in enumerate(CRANES[:questions])],
        qrels={f"q{n}": {f"s{n}": 1} for n in range(questions)},
    )


def save(querymill: CommandLine, folder: Path, to: Path, *options: str) -> dict[str, Any]:
    run = querymill("eval", folder, "--kind", "conversations", "--save", to, *options, "--json")
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout)
    return printed


@pytest.mark.nightly
def test_saved_runs_are_compared_and_an_interrupted_one_is_continued(querymill: CommandLine, tmp_path: Path) -> None:
    folder = talks(tmp_path / "evalsaved")
    a, b = tmp_path / "a", tmp_path / "b"
    before = save(querymill, folder, a)
    save(querymill, folder, b, "--option", "top_n=5")
    lines = (a / "queries.jsonl").read_text().splitlines(keepends=True)
    (a / "queries.jsonl").write_text("".join(lines[:3]) + lines[3][:20])
    unfinished = querymill("eval", "compare", a, b)
    assert (unfinished.returncode, "3 of 4 questions are answered" in unfinished.stderr) == (2, True)
    again = save(querymill, folder, a)
    assert (a / "queries.jsonl").read_text().splitlines(keepends=True)[:3] == lines[:3]
    assert again["ndcg@10"] == before["ndcg@10"] == 1.0
    told = querymill("eval", "compare", a, b)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[0] == "These 4 questions do not show which is better."
    figures = json.loads(querymill("eval", "compare", a, b, "--json").stdout)
    assert (figures["verdict"], figures["b"]["options"]) == ("no difference shown", {"top_n": 5})


def test_runs_over_other_questions_are_refused(querymill: CommandLine, tmp_path: Path) -> None:
    save(querymill, talks(tmp_path / "evalfour"), tmp_path / "a")
    save(querymill, talks(tmp_path / "evalthree", questions=3), tmp_path / "b")
    run = querymill("eval", "compare", tmp_path / "a", tmp_path / "b")
    assert run.returncode == 2
    assert "questions: must be the same; only A asked 1 of them, and only B 0" in run.stderr


def test_two_settings_are_measured_on_one_set(querymill: CommandLine, tmp_path: Path) -> None:
    folder = talks(tmp_path / "evalsettings")
    run = querymill(
        "eval", "compare", "defaults", "filter={\"session_id\":\"s0\"}".replace('"', '\\"'),
        "--set", folder, "--kind", "conversations", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    # B finds s0 alone: one question of four is answered.
    assert (figures["a"]["recall@10"], figures["b"]["recall@10"]) == (1.0, 0.25)
    assert figures["in_words"][0].startswith("A is better than B, by 0.750 nDCG@10 on the average of 4 questions")


def test_a_folder_with_another_run_is_refused(querymill: CommandLine, tmp_path: Path) -> None:
    folder = talks(tmp_path / "evaltwice")
    save(querymill, folder, tmp_path / "a")
    run = querymill("eval", folder, "--kind", "conversations", "--save", tmp_path / "a", "--option", "top_n=3")
    assert (run.returncode, "--save: " in run.stderr, "holds another run" in run.stderr) == (2, True, True)
