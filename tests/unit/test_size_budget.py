"""The size budget of the code, checked instead of hoped for."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for folder in ("shared", "producers", "workers", "deploy") for path in (ROOT / folder).rglob("src/**/*.py")
)
LONGEST_FILE, LONGEST_FUNCTION, P90_FUNCTION, MEDIAN_FUNCTION = 400, 60, 28, 10


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield f"{path.name}:{node.name}", node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE
    assert [name for name, lines in functions(path) if lines > LONGEST_FUNCTION] == []


def test_functions_are_short_on_the_whole() -> None:
    lengths = [lines for path in SOURCES for _, lines in functions(path)]
    assert len(lengths) > 200
    assert statistics.median(lengths) <= MEDIAN_FUNCTION
    assert statistics.quantiles(lengths, n=10)[-1] <= P90_FUNCTION
