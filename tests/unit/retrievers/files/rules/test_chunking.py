import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.chunking import chunk_code, embedded_text
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol, code_text
from querymill_workers.text.words import words


def count(text: str) -> int:
    return len(text.split())


def defined(name: str, line: int, end_line: int, qualifier: str = "") -> Symbol:
    return Symbol(name, "definition", "function", line, end_line, qualifier)


def cut(content: str, *symbols: Symbol, size: int = 400) -> list[tuple[int, int, str]]:
    chunks = chunk_code(content, symbols, count_tokens=count, size=size)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    return [(chunk.line, chunk.end_line, chunk.symbol) for chunk in chunks]


def test_each_definition_is_embedded_and_each_piece_outside_of_all() -> None:
    code = "import os\n\n# Stirs.\nclass Pot:\n    size = 1\n\n    def stir(self):\n        return 1\n\nPot().stir()\n"
    symbols = [Symbol("Pot", "definition", "class", 4, 8), Symbol("stir", "definition", "method", 7, 8, "Pot")]
    assert chunk_code(code, symbols, count_tokens=count) == [
        CodeChunk(0, 1, 1, "import os", ""),
        CodeChunk(1, 3, 8, "# Stirs.\nclass Pot:\n    size = 1", "Pot"),
        CodeChunk(2, 7, 8, "    def stir(self):\n        return 1", "Pot.stir"),
        CodeChunk(3, 10, 10, "Pot().stir()", ""),
    ]


def test_the_first_lines_of_a_definition_are_embedded() -> None:
    body = "\n".join(f"    line {number}" for number in range(1_000))
    (chunk,) = chunk_code(f"def stir():\n{body}", [defined("stir", 1, 1_001)], count_tokens=count)
    assert (chunk.line, chunk.end_line, len(chunk.text)) == (1, 1_001, 400)
    assert chunk.text.startswith("def stir():\n    line 0\n")


def test_a_text_that_the_model_cannot_read_whole_is_cut() -> None:
    (chunk,) = chunk_code("word " * 2_000, [], count_tokens=count, size=10)
    assert chunk.text == " ".join(["word"] * 10)


def test_a_long_file_without_definitions_is_embedded_in_pieces() -> None:
    assert cut("a b\n" * 100) == [(1, 40, ""), (41, 80, ""), (81, 100, "")]


@pytest.mark.parametrize("content", ["", "\n\n", "   \n\t", "}\n);\n"])
def test_what_says_nothing_is_not_embedded(content: str) -> None:
    assert chunk_code(content, [], count_tokens=count) == []


def test_very_many_blank_lines_are_read_in_linear_time() -> None:
    assert chunk_code("\n" * 200_000, [], count_tokens=count) == []


@given(
    st.lists(st.lists(st.sampled_from(["a", "bb", "船"]), max_size=6).map(" ".join), max_size=40),
    st.sets(st.integers(1, 40)),
    st.integers(6, 20),
)
def test_texts_fit_and_every_line_that_is_not_blank_is_of_one(lines: list[str], starts: set[int], size: int) -> None:
    symbols = [defined("f", line, line + 2) for line in starts if line < len(lines)]
    chunks = chunk_code("\n".join(lines), symbols, count_tokens=count, size=size)
    assert all(0 < count(chunk.text) <= size for chunk in chunks)
    covered = {number for chunk in chunks for number in range(chunk.line, chunk.end_line + 1)}
    assert {number for number, line in enumerate(lines, start=1) if line.strip()} <= covered


def test_what_is_embedded_says_where_it_stands() -> None:
    assert embedded_text("a/b.py", "Pot.stir", "x") == "a/b.py Pot.stir\nx"
    assert embedded_text("a/b.py", "", "x") == "a/b.py\nx"


def test_a_name_in_a_dotted_chain_is_a_word_whole() -> None:
    found = words(code_text("self.channel.basic_ack(restoreVisible)"))
    assert {"basic_ack", "basic", "ack", "restorevisible", "restor", "visibl", "channel"} <= set(found)
    assert "basic_ack" not in words("self.channel.basic_ack")
