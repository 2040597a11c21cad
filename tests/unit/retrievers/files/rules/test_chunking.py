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


def cut(content: str, *symbols: Symbol, size: int = 4) -> list[tuple[int, int, str]]:
    chunks = chunk_code(content, symbols, count_tokens=count, size=size)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    return [(chunk.line, chunk.end_line, chunk.symbol) for chunk in chunks]


def test_a_small_file_is_one_chunk_without_its_blank_ends() -> None:
    (chunk,) = chunk_code("\n\na b\n\nc\n\n", [], count_tokens=count)
    assert chunk == CodeChunk(0, 3, 5, "a b\n\nc")


def test_a_chunk_that_is_half_full_ends_before_a_definition() -> None:
    assert cut("a b\nc d\ne f", defined("x", 1, 1), defined("y", 2, 3)) == [(1, 1, "x"), (2, 3, "y")]
    assert cut("a\nc d\ne", defined("x", 1, 1), defined("y", 2, 3)) == [(1, 3, "x")]


def test_a_full_chunk_ends_at_a_definition_of_its_second_half_else_at_a_blank_line() -> None:
    assert cut("a\nb\n\nc\nd e", size=4) == [(1, 2, ""), (4, 5, "")]
    assert cut("a\nb\nc\nd\ne", size=4) == [(1, 4, ""), (5, 5, "")]


def test_what_is_left_of_a_full_chunk_makes_room_for_a_long_line() -> None:
    assert cut("a\n\na\na a a a", size=4) == [(1, 1, ""), (3, 3, ""), (4, 4, "")]


def test_a_chunk_is_named_after_what_encloses_its_first_line() -> None:
    symbols = [defined("Pot", 1, 9), defined("stir", 2, 5, "Pot"), Symbol("f", "call", "call", 1, 1)]
    assert cut("a b\nc d\ne f\ng h\ni j\nk l", *symbols) == [(1, 1, "Pot"), (2, 3, "Pot.stir"), (4, 5, "Pot.stir"),
                                                             (6, 6, "Pot")]  # fmt: skip


def test_a_line_longer_than_a_chunk_is_cut_and_nothing_of_it_is_lost() -> None:
    line = "word " * 2_000
    chunks = chunk_code(f"first\n{line}\nlast", [], count_tokens=count, size=10)
    assert all(count(chunk.text) <= 10 for chunk in chunks)
    assert sum(chunk.text.count("word") for chunk in chunks) == 2_000
    assert {(chunk.line, chunk.end_line) for chunk in chunks[1:-1]} == {(2, 2)}


@pytest.mark.parametrize("content", ["", "\n\n", "   \n\t"])
def test_a_blank_file_has_no_chunk(content: str) -> None:
    assert chunk_code(content, [], count_tokens=count) == []


def test_very_many_blank_lines_or_definitions_are_cut_in_linear_time() -> None:
    assert chunk_code("\n" * 200_000, [], count_tokens=count) == []
    symbols = [defined(f"D{line}", line, line) for line in range(1, 50_001)]
    chunks = chunk_code("a b\n" * 50_000, symbols, count_tokens=count, size=20)
    assert len(chunks) == 10_000
    assert chunks[-1].symbol == "D49996"


@given(
    st.lists(st.lists(st.sampled_from(["a", "bb", "船"]), max_size=6).map(" ".join), max_size=40),
    st.sets(st.integers(1, 40)),
    st.integers(6, 20),
)
def test_chunks_fit_and_every_line_that_is_not_blank_is_in_one(lines: list[str], starts: set[int], size: int) -> None:
    symbols = [defined("f", line, line + 2) for line in starts]
    chunks = chunk_code("\n".join(lines), symbols, count_tokens=count, size=size)
    assert all(count(chunk.text) <= size for chunk in chunks)
    covered = [number for chunk in chunks for number in range(chunk.line, chunk.end_line + 1)]
    assert len(covered) == len(set(covered))
    assert {number for number, line in enumerate(lines, start=1) if line.strip()} <= set(covered)
    assert all("\n".join(lines[chunk.line - 1 : chunk.end_line]) == chunk.text for chunk in chunks)


def test_what_is_embedded_says_where_it_stands() -> None:
    assert embedded_text("a/b.py", "Pot.stir", "x") == "a/b.py Pot.stir\nx"
    assert embedded_text("a/b.py", "", "x") == "a/b.py\nx"


def test_a_name_in_a_dotted_chain_is_a_word_whole() -> None:
    found = words(code_text("self.channel.basic_ack(restoreVisible)"))
    assert {"basic_ack", "basic", "ack", "restorevisible", "restor", "visibl", "channel"} <= set(found)
    assert "basic_ack" not in words("self.channel.basic_ack")
