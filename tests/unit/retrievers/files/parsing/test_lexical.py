"""Symbols read line by line, for languages without a grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.parsing.lexical import MAX_LINE_CHARS, LexicalParser

PARSER = LexicalParser()


def read(path: str, content: str) -> list[tuple[str, str, str, int]]:
    return [(found.role, found.kind, found.name, found.line) for found in PARSER.parse(path, content).symbols]


@pytest.mark.parametrize(
    ("path", "line", "symbol"),
    [
        ("a.kt", "data class Pot(val x: Int)", ("definition", "class", "Pot", 1)),
        ("a.swift", "  protocol Stirs {", ("definition", "interface", "Stirs", 1)),
        ("a.scala", "object Kitchen", ("definition", "class", "Kitchen", 1)),
        ("a.php", "function stir($x) {", ("definition", "function", "stir", 1)),
        ("a.proto", "message Soup {", ("definition", "class", "Soup", 1)),
        ("a.lua", "local function stir(x)", ("definition", "function", "stir", 1)),
        ("a.cs", "using System.Text;", ("import", "module", "System.Text", 1)),
        ("a.php", r"use App\Models\Pot;", ("import", "module", "App.Models.Pot", 1)),
        ("a.pl", "use My::Module;", ("import", "module", "My.Module", 1)),
        ("a.sh", "source ./lib/common", ("import", "module", "lib.common", 1)),
        ("a.dart", "import 'package';", ("import", "module", "package", 1)),
    ],
)
def test_definitions_and_imports_are_recognised(path: str, line: str, symbol: tuple[str, str, str, int]) -> None:
    assert symbol in read(path, line)


@pytest.mark.parametrize(
    "line", ["# def no(x)", "// class No", "-- function no()", " * call(x)", "/* def no */", "; no()"]
)
def test_comments_have_no_symbols(line: str) -> None:
    assert read("a.rb", line) == []


def test_a_keyword_with_parentheses_is_not_a_call() -> None:
    assert read("a.swift", "if (x) { while (y) { stir(z) } }") == [("call", "call", "stir", 1)]


def test_a_definition_is_not_a_call_of_itself() -> None:
    assert read("a.rb", "def stir(x)") == [("definition", "function", "stir", 1)]


def test_calls_are_counted_once_with_their_first_line() -> None:
    (symbol,) = PARSER.parse("a.rb", "\nstir(1)\nstir(2)\nstir(3)").symbols
    assert (symbol.name, symbol.line, symbol.times) == ("stir", 2, 3)


def test_the_rest_of_a_long_line_is_ignored() -> None:
    assert read("a.rb", " " * MAX_LINE_CHARS + "stir(1)") == []


@given(st.text(max_size=300), st.sampled_from(["a.rb", "a.sql", "a.hs", "notes.md"]))
def test_any_text_is_read_and_symbols_lie_in_it(content: str, path: str) -> None:
    symbols = PARSER.parse(path, content).symbols
    lines = content.count("\n") + 1
    assert all(1 <= symbol.line <= symbol.end_line <= lines for symbol in symbols)
    assert [symbol.line for symbol in symbols] == sorted(symbol.line for symbol in symbols)
    assert all(symbol.name.rpartition(".")[2] in content for symbol in symbols)
