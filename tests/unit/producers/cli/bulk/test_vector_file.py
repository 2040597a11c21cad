import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill.cli.bulk.appended_file import UnusableFile
from querymill.cli.bulk.vector_file import VectorFile, line_of

FIRST, SECOND = line_of("a", (1.0, 0.5)), line_of("b", (0.25, 2.0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.jsonl"


def rows(path: Path) -> dict[str, list[float]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = {line["_id"]: line["embedding"] for line in lines}
    assert len(found) == len(lines)
    return found


def test_vectors_are_appended_as_json_lines(path: Path) -> None:
    with VectorFile(path) as file:
        assert file.write([("a", (1.0, 0.5)), ('中 "\n', (0.25, 2.0))]) == 2
    assert rows(path) == {"a": [1.0, 0.5], '中 "\n': [0.25, 2.0]}


def test_a_file_is_gone_on_with(path: Path) -> None:
    path.write_bytes(FIRST)
    with VectorFile(path) as file:
        assert (file.ids, file.dimensions) == ({"a"}, 2)
        assert file.write([("a", (9.0, 9.0)), ("b", (0.25, 2.0))]) == 1
        assert file.ids == {"a", "b"}
    assert path.read_bytes() == FIRST + SECOND


@pytest.mark.parametrize("torn", range(len(SECOND)))
def test_a_line_torn_anywhere_is_dropped_and_written_again_whole(path: Path, torn: int) -> None:
    path.write_bytes(FIRST + SECOND[:torn])
    with VectorFile(path) as file:
        assert file.ids == {"a"}
        file.write([("b", (0.25, 2.0))])
    assert path.read_bytes() == FIRST + SECOND


FOREIGN = [
    b"notes without an end of line",
    b"notes\n",
    b'{"_id": "a", "text": "an input"}\n',
    b'{"_id": 1, "embedding": []}\n',
    b'{"_id": "a", "embedding": "text"}\n',
    b"[]\n",
    b"7\n",
    FIRST + FIRST,
    FIRST + line_of("b", (1.0,)),
    SECOND[:-9] + b"\n" + FIRST,
]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_file_of_something_else_is_refused_and_left_as_it_was(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UnusableFile, match="line "):
        VectorFile(path)
    assert path.read_bytes() == content


def test_vectors_of_another_dimension_are_refused_and_none_is_written(path: Path) -> None:
    with VectorFile(path) as file:
        file.write([("a", (1.0, 0.5))])
        with pytest.raises(UnusableFile, match="1 dimensions where the vectors before have 2"):
            file.write([("b", (1.0,))])
    assert path.read_bytes() == FIRST


def test_two_cannot_write_one_file_at_once(path: Path) -> None:
    with VectorFile(path), pytest.raises(UnusableFile, match="another process is writing it"):
        VectorFile(path)
    VectorFile(path).close()


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_float32_comes_back_to_the_last_bit(numbers: list[float]) -> None:
    # Zero may lose its sign: "-0" is an integer in JSON.
    read = json.loads(line_of("a", numbers))["embedding"]
    packed = struct.pack(f"<{len(read)}f", *(number or 0.0 for number in read))
    assert packed == struct.pack(f"<{len(numbers)}f", *(number or 0.0 for number in numbers))
