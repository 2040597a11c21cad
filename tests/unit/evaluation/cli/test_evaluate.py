"""``querymill eval``: its options, and the figures it makes of the outcomes."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from querymill.cli.exits import WrongUse
from querymill_evaluation.cli.evaluate import _parse_option, register


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
    assert _parse_option(text) == parsed
