"""Notebooks become the source of their cells."""

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill.code_bases.notebooks import NotANotebook, source_of


def notebook(*cells: dict[str, Any], language: str = "python", **more: Any) -> str:
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": language}}, "nbformat": 4, **more})


def code(source: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": [{"text": "a secret of the outputs"}]}


def test_cells_are_numbered_and_outputs_are_left_out() -> None:
    text = notebook({"cell_type": "markdown", "source": ["# Prices\n", "of pots"]}, code("x = 1\ny = 2"), code([]))
    assert source_of(text) == (
        "# notebook: python\n# %% cell 1 [markdown]\n# # Prices\n# of pots\n# %% cell 2\nx = 1\ny = 2\n# %% cell 3\n"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1"),
        ("!pip install pots", "# !pip install pots"),
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("%%bash\nls | wc", "# %%bash\n# ls | wc"),
        ("%%timeit\nx = 1", "# %%timeit\nx = 1"),
        ("pots?", "pots?"),
    ],
)
def test_what_is_no_python_is_commented_out(source: str, expected: str) -> None:
    assert source_of(notebook(code(source))).split("\n", 2)[2] == expected + "\n"


@pytest.mark.parametrize(
    ("language", "first"),
    [
        ("Python", "# notebook: python"),
        ("C++", "// notebook: cpp"),
        ("R", "# notebook: r"),
        ("bad name\n", "# notebook: python"),
    ],
)
def test_the_first_line_names_the_language(language: str, first: str) -> None:
    assert source_of(notebook(language=language)).split("\n")[0] == first


def test_a_notebook_of_format_3_is_read() -> None:
    cells = [{"cell_type": "heading", "level": 1, "source": ["Pots"]}, {"cell_type": "code", "input": ["x = 1"]}]
    text = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}], "metadata": {}})
    assert source_of(text) == "# notebook: python\n# %% cell 1 [heading]\n# Pots\n# %% cell 2\nx = 1\n"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"cells": 1}', '{"worksheets": [1]}', "[" * 100_000])
def test_other_json_is_no_notebook(text: str) -> None:
    with pytest.raises(NotANotebook):
        source_of(text)


SOURCES = st.one_of(st.text(), st.lists(st.text()), st.none(), st.integers())
KINDS = st.sampled_from(["code", "markdown", "raw", 1, None])


@given(st.lists(st.fixed_dictionaries({"cell_type": KINDS, "source": SOURCES})))
def test_every_cell_has_its_line(cells: list[dict[str, Any]]) -> None:
    made = source_of(notebook(*cells))
    assert [f"# %% cell {number}" for number in range(1, len(cells) + 1)] == [
        line.partition(" [")[0] for line in made.split("\n") if line.startswith("# %% cell ")
    ] or any("%% cell" in str(cell["source"]) for cell in cells)


def test_the_whole_is_python_for_a_parser() -> None:
    cells = [{"cell_type": "markdown", "source": 'It\'s "it"'}, code("%cd x\ndef stir():\n    return 1"), code("!ls")]
    assert [type(node).__name__ for node in ast.parse(source_of(notebook(*cells))).body] == ["FunctionDef"]
