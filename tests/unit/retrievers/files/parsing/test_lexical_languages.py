"""Definitions of languages without a grammar: their names, kinds, lines, and what encloses them."""

import pytest

from querymill_workers.retrievers.files.parsing.lexical import LexicalParser
from querymill_workers.retrievers.files.parsing.patterns import PATTERNS

PARSER = LexicalParser()

Found = tuple[str, str, int, int, str]


def definitions(path: str, content: str) -> list[Found]:
    return [
        (found.kind, found.name, found.line, found.end_line, found.qualifier)
        for found in PARSER.parse(path, content).symbols
        if found.role == "definition"
    ]


CSHARP = """
namespace Kitchen
{
    public sealed class Pot<T> : IPot
    {
        private readonly List<int> _spoons = new List<int>();

        public Pot(int size)
        {
            Size = size;
        }

        public async Task<int> StirAsync(string with)
        {
            return await Other(with);
        }
    }

    interface IPot { }
}
"""
SQL = """
-- CREATE TABLE no (x int);
CREATE TABLE IF NOT EXISTS kitchen."pots" (
    id int
);
create or replace function fill(pot int) returns void as $$
begin
    update pots set full = true;
end;
$$ language plpgsql;
CREATE VIEW clean AS SELECT 1;
"""
WHOLE: list[tuple[str, str, list[Found]]] = [
    ("a.cs", CSHARP, [
        ("class", "Pot", 4, 17, ""),
        ("method", "Pot", 8, 11, "Pot"),
        ("method", "StirAsync", 13, 16, "Pot"),
        ("interface", "IPot", 19, 19, ""),
    ]),
    ("a.sql", SQL, [("struct", "pots", 3, 5, ""), ("function", "fill", 6, 10, ""), ("struct", "clean", 11, 11, "")]),
    ("a.rb", "module Kitchen\n  class Pot\n    def self.stir?(x)\n      x\n    end\n  end\nend\nputs 1\n", [
        ("module", "Kitchen", 1, 7, ""), ("class", "Pot", 2, 6, "Kitchen"), ("method", "stir?", 3, 5, "Pot"),
    ]),
    ("a.kt", "data class Pot(val x: Int)\n\nfun <T> List<T>.stir(x: Int): Int {\n    return x\n}\n", [
        ("class", "Pot", 1, 1, ""), ("function", "stir", 3, 5, ""),
    ]),
    ("a.swift", "public struct Pot {\n  init(size: Int) {\n    x = 1\n  }\n  static func stir() -> Int { 1 }\n}\n", [
        ("struct", "Pot", 1, 6, ""), ("method", "init", 2, 4, "Pot"), ("method", "stir", 5, 5, "Pot"),
    ]),
    ("a.php", "<?php\nfinal class Pot\n{\n    public static function stir($x)\n    {\n        return $x;\n    }\n}\n", [
        ("class", "Pot", 2, 8, ""), ("method", "stir", 4, 7, "Pot"),
    ]),
    ("a.sh", "stir() {\n  echo 1\n}\nfunction pour {\n  stir\n}\nstir\n", [
        ("function", "stir", 1, 3, ""), ("function", "pour", 4, 6, ""),
    ]),
    ("a.lua", "local M = {}\nfunction M.stir(x)\n  return x\nend\nM.pour = function(x)\n  return x\nend\nreturn M\n", [
        ("function", "stir", 2, 4, ""), ("function", "pour", 5, 7, ""),
    ]),
    ("a.ex", "defmodule Kitchen.Pot do\n  def stir(x) when x > 1 do\n    x\n  end\n  defp pour(x), do: x\nend\n", [
        ("class", "Pot", 1, 6, ""), ("method", "stir", 2, 4, "Pot"), ("method", "pour", 5, 5, "Pot"),
    ]),
    ("a.scala", "case class Pot(x: Int)\nobject Pot {\n  def stir(x: Int): Int =\n    x + 1\n\n  type Id = Int\n}\n", [
        ("class", "Pot", 1, 1, ""), ("class", "Pot", 2, 7, ""), ("method", "stir", 3, 4, "Pot"),
        ("type", "Id", 6, 6, "Pot"),
    ]),
    ("a.hs", "data Pot = Pot Int\n\nstir :: Int -> Pot\nstir x = Pot x\n", [
        ("struct", "Pot", 1, 1, ""), ("function", "stir", 3, 3, ""),
    ]),
    ("Makefile", "CC := gcc\nall: pot.o\n\tcc pot.o\n", [("function", "all", 2, 3, "")]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content", "expected"), WHOLE, ids=[path for path, _, _ in WHOLE])
def test_definitions_have_their_lines_and_what_encloses_them(path: str, content: str, expected: list[Found]) -> None:
    assert definitions(path, content) == expected


LINES = [
    ("a.pl", "sub stir {", "function", "stir"),
    ("a.r", "stir.pot <- function(x) {", "function", "stir.pot"),
    ("a.jl", "mutable struct Pot", "struct", "Pot"),
    ("a.jl", "stir(x, y) = x + y", "function", "stir"),
    ("a.dart", "  Future<int> stir(String x) async {", "function", "stir"),
    ("a.proto", "  rpc Stir (Pot) returns (Soup);", "function", "Stir"),
    ("a.groovy", "def stir(int x) {", "function", "stir"),
    ("a.ps1", "function Get-Pot {", "function", "Get-Pot"),
    ("a.m", "- (void)stir:(int)x {", "function", "stir"),
    ("a.zig", "pub fn stir(x: u8) u8 {", "function", "stir"),
    ("a.erl", "stir(X) when X > 1 ->", "function", "stir"),
    ("a.clj", "(defn stir-pot [x]", "function", "stir-pot"),
    ("a.fs", "let rec stir x =", "function", "stir"),
    ("a.sol", "contract Pot is Owned {", "class", "Pot"),
    ("a.tf", 'resource "aws_s3_bucket" "pots" {', "class", "pots"),
]


@pytest.mark.parametrize(("path", "line", "kind", "name"), LINES)
def test_a_definition_is_recognised_by_its_line(path: str, line: str, kind: str, name: str) -> None:
    assert [found[:2] for found in definitions(path, line)] == [(kind, name)]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.cs", "        return new Pot(x);"),
        ("a.cs", "    await Stir(x);"),
        ("a.cs", "    if (full) Stir(x);"),
        ("a.dart", "    return stir(x);"),
        ("a.dart", "    pot.stir(x);"),
        ("a.sh", "echo stir"),
        ("a.sql", "INSERT INTO pots VALUES (1);"),
        ("a.rb", "  stir(1)"),
        ("a.php", "    $x = stir(1);"),
        ("Makefile", "CC := gcc"),
    ],
)
def test_a_statement_defines_nothing(path: str, line: str) -> None:
    assert definitions(path, line) == []


@pytest.mark.parametrize("language", sorted(PATTERNS))
@pytest.mark.parametrize(
    "text", ["public " * 60, "a" * 500, "<" * 250 + ">" * 250, "a.b:" * 120, "(" * 500, "[a]" * 160]
)
def test_no_line_takes_a_pattern_long(language: str, text: str) -> None:
    for pattern in PATTERNS[language]:
        pattern.pattern.match(text)
