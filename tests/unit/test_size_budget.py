"""The size budget of the code, checked instead of hoped for."""

import ast
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for folder in ("shared", "producers", "workers", "deploy") for path in (ROOT / folder).rglob("src/**/*.py")
)
LONGEST_FILE, LONGEST_FUNCTION, P90_FUNCTION, MEDIAN_FUNCTION = 400, 60, 28, 10


@pytest.fixture(scope="module")
def lengths() -> dict[str, int]:
    """The lines of each function, by its file and the line where it begins."""
    return {
        f"{path.relative_to(ROOT)}:{node.lineno}:{node.name}": node.end_lineno - node.lineno + 1
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }


def test_no_file_is_too_long() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_no_function_is_too_long(lengths: dict[str, int]) -> None:
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_functions_are_short_on_the_whole(lengths: dict[str, int]) -> None:
    assert len(lengths) > 200
    assert statistics.median(lengths.values()) <= MEDIAN_FUNCTION
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= P90_FUNCTION
