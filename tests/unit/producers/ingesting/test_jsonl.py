"""Lines of a file, however long they are."""

import io

import pytest

from querymill.ingesting import jsonl
from querymill.ingesting.jsonl import numbered_lines


def test_a_line_that_is_too_long_is_named_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 10)
    stream = io.BytesIO(b"short\n" + b"x" * 95 + b"\n" + b"0123456789\nlast")
    assert list(numbered_lines(stream)) == [(1, b"short\n"), (2, None), (3, None), (4, b"last")]


def test_exactly_as_long_as_allowed_is_not_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 10)
    assert list(numbered_lines(io.BytesIO(b"123456789\nx\n"))) == [(1, b"123456789\n"), (2, b"x\n")]
