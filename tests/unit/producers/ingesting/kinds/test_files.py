"""How files are read from JSON lines, and joined into jobs."""

import json

from querymill.ingesting.jsonl import BadLine, GoodLine
from querymill.ingesting.kinds.files import BATCH, LINES, batched
from querymill_shared.contracts.files.ingest import SourceFile


def files(*lengths: int) -> list[SourceFile]:
    return [SourceFile(path=f"{number}.py", content="x" * length) for number, length in enumerate(lengths)]


def test_batches_are_numbered_and_hold_so_many_files_or_characters() -> None:
    many = list(batched(files(*[1] * (2 * BATCH.documents + 1)), "c"))
    assert [(batch.number, len(batch.request.files)) for batch in many] == [(1, 64), (2, 64), (3, 1)]
    large = batched(files(1, BATCH.size, 1), "c")
    assert [batch.size for batch in large] == [1, BATCH.size, 1]


def test_a_batch_is_named_by_its_first_file_and_sized_in_bytes() -> None:
    (batch,) = batched(files(3, 2, 1), "c")
    assert (batch.name, batch.unit, batch.size) == ("0.py and 2 more", "batch", 6)
    (alone,) = batched([SourceFile(path="船.py", content="船")], "c")
    assert (alone.name, alone.size) == ("船.py", 3)


NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": [{"png": "A" * 99}]}]})
CELLS = "# notebook: python\n# %% cell 1\nx = 1\n"


def test_a_notebook_is_read_by_cell_and_what_was_exported_stays_as_it_is() -> None:
    rows = [
        {"path": "a.ipynb", "content": NOTEBOOK}, {"path": "b.ipynb", "content": CELLS},
        {"path": "c.py", "content": NOTEBOOK},
    ]  # fmt: skip
    read = [line for line in LINES.read_rows(rows, "c") if isinstance(line, GoodLine)]
    assert [line.request.files[0].content for line in read] == [CELLS, CELLS, NOTEBOOK]


def test_a_secret_is_left_out_unless_it_is_asked_for() -> None:
    rows = [{"path": "deep/.env", "content": "A=1"}, {"path": "a.py", "content": "a = 1"}, {"path": ".env"}]
    left_out, good, bad = LINES.read_rows(rows, "c")
    assert left_out == BadLine(1, "a secret, by its name", left_out="deep/.env")
    assert good.number == 2
    assert isinstance(bad, BadLine)
    assert not bad.left_out
    whole = list(LINES.leaving_nothing_out().read_rows(rows[:2], "c"))
    assert all(isinstance(line, GoodLine) for line in whole)
