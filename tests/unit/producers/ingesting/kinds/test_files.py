"""How files are read from JSON lines, and joined into jobs."""

import json

from hypothesis import given
from hypothesis import strategies as st

from querymill.ingesting.jsonl import BadLine, GoodLine
from querymill.ingesting.kinds.files import BATCH_CHARACTERS, BATCH_FILES, LINES, batched
from querymill_shared.contracts.files.ingest import SourceFile

LENGTHS = st.lists(st.sampled_from([0, 1, 149_999, 150_000, 299_999, BATCH_CHARACTERS, 400_000]), max_size=12)


def files(*lengths: int) -> list[SourceFile]:
    return [SourceFile(path=f"{number}.py", content="x" * length) for number, length in enumerate(lengths)]


@given(LENGTHS)
def test_every_file_is_in_one_batch_and_only_a_file_alone_is_larger_than_a_batch(lengths: list[int]) -> None:
    given_files = files(*lengths)
    batches = list(batched(given_files, "c"))
    assert [file for batch in batches for file in batch.request.files] == given_files
    assert all(batch.size <= BATCH_CHARACTERS or len(batch.request.files) == 1 for batch in batches)
    assert [batch.number for batch in batches] == list(range(1, len(batches) + 1))


def test_a_batch_holds_so_many_files_and_no_more() -> None:
    sizes = [len(batch.request.files) for batch in batched(files(*[1] * (2 * BATCH_FILES + 1)), "c")]
    assert sizes == [BATCH_FILES, BATCH_FILES, 1]


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
