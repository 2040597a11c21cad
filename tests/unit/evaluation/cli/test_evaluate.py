"""``querymill eval``: its options, and the figures it makes of the outcomes."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from querymill.cli.exits import WrongUse
from querymill_evaluation.cli.evaluate import register
from querymill_evaluation.cli.measuring import parse_option
from tests.fixtures.evaluation_sets import write_set


def wrong(*arguments: str | Path) -> str:
    """Run a command that is used wrongly; give what it says."""
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    run = CliRunner().invoke(app, ["eval", *map(str, arguments)])
    assert isinstance(run.exception, WrongUse), run.output
    return str(run.exception)


def test_an_unknown_kind_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    said = wrong(tmp_path, "--kind", "songs")
    assert said == "--kind: 'songs' is not one of: reports, modules, messages, conversations, files"


@pytest.mark.parametrize("option", ["top_n", "=3", ""])
def test_an_option_without_name_or_value_is_refused(tmp_path: Path, option: str) -> None:
    assert wrong(tmp_path, "--kind", "reports", "--option", option) == f"--option: {option!r} is not name=value"


def test_a_folder_that_is_no_set_is_named(tmp_path: Path) -> None:
    assert "qrels.tsv" in wrong(tmp_path, "--kind", "reports")


PARSED: list[tuple[str, tuple[str, Any]]] = [
    ("top_n=3", ("top_n", 3)),
    ("hyde=true", ("hyde", True)),
    ("similarity_threshold=null", ("similarity_threshold", None)),
    ("mode=oneshot", ("mode", "oneshot")),
    ("multi_query=synonym,variant", ("multi_query", ["synonym", "variant"])),
    ("multi_query=synonym", ("multi_query", ["synonym"])),
    ("channels=words", ("channels", ["words"])),
    ('documents=["a", "b"]', ("documents", ["a", "b"])),
    ("now = 2026-01-01T00:00:00Z", ("now", "2026-01-01T00:00:00Z")),
    ("query=a=b", ("query", "a=b")),
]


@pytest.mark.parametrize(("text", "parsed"), PARSED)
def test_an_option_is_a_field_with_a_value_of_json_or_a_list_of_words(text: str, parsed: tuple[str, Any]) -> None:
    assert parse_option(text) == parsed


def test_options_may_come_before_the_set(tmp_path: Path) -> None:
    assert wrong("--kind", "songs", tmp_path).startswith("--kind: 'songs' is not one of")


def test_a_set_without_judgements_is_refused_with_the_rule(tmp_path: Path) -> None:
    said = wrong(tmp_path, "--kind", "reports")
    assert said == f"{tmp_path}: a set must have qrels.tsv, with the columns query-id, corpus-id, score"
    (tmp_path / "qrels.tsv").write_text("q1\td1\t1\n")
    said = wrong(tmp_path, "--kind", "reports")
    assert (
        said == f"{tmp_path / 'qrels.tsv'}: line 1 must name the columns query-id, corpus-id, score, separated by tabs"
    )
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    assert wrong(tmp_path, "--kind", "reports") == f"{tmp_path}: a set must have queries.jsonl, or queries.jsonl.gz"


def test_a_set_whose_questions_are_not_judged_is_refused(tmp_path: Path) -> None:
    corpus = [{"_id": "d#0", "title": "", "text": "cranes", "metadata": {"doc": "d"}}]
    folder = write_set(tmp_path / "s", corpus=corpus, queries=[{"_id": "q", "text": "t"}], qrels={"p": {"d#0": 1}})
    assert wrong(folder, "--kind", "reports").endswith("qrels.tsv must judge at least one question of queries.jsonl")


COMPARED = [
    (["none", "b"], "A: none: must be the folder of a saved run"),
    (["none", "b", "--kind", "reports"], "--kind: needs --set"),
    (["defaults", "b", "--set", "s"], "B: 'b' is not name=value"),
    (["defaults", "", "--set", "s"], "B: must be name=value, or 'defaults'"),
    (["defaults", "defaults", "--set", "s"], "--kind: needed with --set"),
    (["defaults", "defaults", "--set", "s", "--kind", "songs"], "--kind: 'songs' is not one of"),
    (["defaults", "defaults", "--set", "s", "--kind", "files"], "s: a set must have qrels.tsv"),
]


@pytest.mark.parametrize(("arguments", "rule"), COMPARED)
def test_a_comparison_of_what_is_not_there_is_refused(arguments: list[str], rule: str) -> None:
    assert wrong("compare", *arguments).startswith(rule)


def test_a_draft_of_an_unknown_kind_or_in_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    assert wrong("draft", "c", "--kind", "songs").startswith("--kind: 'songs' is not one of")
    (tmp_path / "qrels.tsv").touch()
    said = wrong("draft", "c", "--kind", "files", "--out", tmp_path)
    assert said.startswith(f"--out: {tmp_path}: must be a new folder")
