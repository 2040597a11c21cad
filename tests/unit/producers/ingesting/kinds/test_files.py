"""How files are read from JSON lines."""

import json

from querymill.ingesting.jsonl import BadLine, GoodLine
from querymill.ingesting.kinds.files import LINES, lines_of
from querymill_shared.contracts.files.ingest import SourceFile


def test_files_are_numbered_named_by_their_paths_and_sized_in_bytes() -> None:
    first, second = lines_of([SourceFile(path="a.py", content="abc"), SourceFile(path="船.py", content="船")])
    assert (first.number, first.name, first.unit, first.size) == (1, "a.py", "file", 3)
    assert (second.number, second.name, second.size) == (2, "船.py", 3)


NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": [{"png": "A" * 99}]}]})
CELLS = "# notebook: python\n# %% cell 1\nx = 1\n"


def test_a_notebook_is_read_by_cell_and_what_was_exported_stays_as_it_is() -> None:
    rows = [
        {"path": "a.ipynb", "content": NOTEBOOK}, {"path": "b.ipynb", "content": CELLS},
        {"path": "c.py", "content": NOTEBOOK},
    ]  # fmt: skip
    read = [line for line in LINES.read_rows(rows) if isinstance(line, GoodLine)]
    assert [line.document.content for line in read] == [CELLS, CELLS, NOTEBOOK]


def test_a_secret_is_left_out_unless_it_is_asked_for() -> None:
    rows = [{"path": "deep/.env", "content": "A=1"}, {"path": "a.py", "content": "a = 1"}, {"path": ".env"}]
    left_out, good, bad = LINES.read_rows(rows)
    assert left_out == BadLine(1, "a secret, by its name", left_out="deep/.env")
    assert good.number == 2
    assert isinstance(bad, BadLine)
    assert not bad.left_out
    whole = list(LINES.leaving_nothing_out().read_rows(rows[:2]))
    assert all(isinstance(line, GoodLine) for line in whole)
