import sys
import time

import pytest

from querymill_workers.retrievers.files.parsing import tree_sitter
from querymill_workers.retrievers.files.parsing.grammars import SOURCES, load
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from tests.fixtures.short_forms import crossed

PARSER = TreeSitterParser()

#: For each language a file, and as "role kind qualifier name line" what it must hold and what it must not.
SAMPLES: dict[str, tuple[str, set[str], set[str]]] = {
    "a.py": (
        """import os.path, sys as system
from kombu.transport.redis import Channel as C, QoS
from . import near
LIMIT = 3
class A(Base, mod.Other):
    @app.task
    def f(self, a: Thing[int]) -> Optional[str]:
        '''def no(): call()'''
        self.channel.basic_reject(a)
        def inner(): pass
""",
        {
            "import module  os.path 1", "import module  sys 1", "import module  kombu.transport.redis 2",
            "import name kombu.transport.redis Channel 2", "import name kombu.transport.redis QoS 2",
            "import name . near 3", "definition constant  LIMIT 4", "definition class  A 5", "type type  Base 5",
            "type type  Other 5", "call call app task 6", "definition method A f 7", "type type  Thing 7",
            "type type  Optional 7", "call call self.channel basic_reject 9", "definition function f inner 10",
        },
        {"no", "call"},
    ),
    "a.jsx": (
        """import React, {useState} from "react";
const fs = require('fs');
const run = (a) => a.map(g);
class A extends B { m() { return <Foo.Bar x={1}><Baz/></Foo.Bar> } }
exports.h = function() { new Thing() }
""",
        {
            "import module  react 1", "import name react useState 1", "import name react React 1",
            "import module  fs 2",
            "definition function  run 3", "call call a map 3", "definition class  A 4", "type type  B 4",
            "definition method A m 4", "call call Foo Bar 4", "call call  Baz 4", "definition function exports h 5",
            "call call  Thing 5",
        },
        {"g"},
    ),
    "a.tsx": (
        """import {A} from './a';
export interface I extends J { x: K }
type T = I | string;
enum E { A }
abstract class C extends D { abstract m(): void; n(): T { return <Foo/> } }
namespace N { export function q() {} }
""",
        {
            "import module  ./a 1", "import name ./a A 1", "definition interface  I 2", "type type  J 2",
            "type type  K 2", "definition type  T 3", "definition enum  E 4", "definition class  C 5",
            "definition method C m 5", "definition method C n 5", "type type  D 5", "call call  Foo 5",
            "definition module  N 6", "definition function N q 6",
        },
        set(),
    ),
    "a.ts": (
        "class Q { private z(a: R): void { super.z(a) } }",
        {"definition class  Q 1", "definition method Q z 1", "type type  R 1", "call call super z 1"},
        set(),
    ),
    "a.go": (
        """package main
import (
  k "k8s.io/api/core/v1"
)
type S struct { a int }
type I interface { M() }
func (s *S) Do(x k.Pod) error { fmt.Println(x); return helper() }
func helper() error { return nil }
""",
        {
            "import module  k8s.io/api/core/v1 3", "definition struct  S 5", "definition interface  I 6",
            "definition method S Do 7", "call call fmt Println 7", "call call  helper 7", "type type  Pod 7",
            "definition function  helper 8",
        },
        set(),
    ),
    "A.java": (
        """package p;
import java.util.List;
public class A extends Base implements I {
  static final int MAX = 1;
  @Override public List<String> m() { this.list.add(new Foo()); return go(); }
}
""",
        {
            "import module  java.util.List 2", "import name java.util List 2", "definition class  A 3",
            "type type  Base 3", "type type  I 3", "definition constant A MAX 4", "definition method A m 5",
            "type type  Override 5", "call call this.list add 5", "call call  Foo 5", "call call  go 5",
        },
        set(),
    ),
    "a.rs": (
        """use std::collections::HashMap;
use crate::a::{B, C};
pub struct S<T> { a: T }
impl<T> Run for S<T> { fn go(&self) -> Outcome { self.x.run(); Foo::new(); println!("x") } }
trait Run { fn go(&self); }
""",
        {
            "import module  std.collections.HashMap 1", "import name std.collections HashMap 1",
            "import module  crate.a 2", "import name crate.a B 2", "import name crate.a C 2",
            "definition struct  S 3", "definition method S go 4", "type type  Run 4", "type type  Outcome 4",
            "call call self.x run 4", "call call Foo new 4", "call call  println 4", "definition trait  Run 5",
            "definition method Run go 5",
        },
        set(),
    ),
    "a.c": (
        """#include <stdio.h>
#include "a/b.h"
#define MAX 3
typedef struct node { int a; } node_t;
static int *f(struct node *n) { return n->cb(1); }
int main(void) { return f(0); }
""",
        {
            "import module  stdio.h 1", "import module  a/b.h 2", "definition macro  MAX 3",
            "definition struct  node 4",
            "definition type  node_t 4", "definition function  f 5", "call call n cb 5", "definition function  main 6",
            "call call  f 6",
        },
        set(),
    ),
    "a.cpp": (
        """#include <vector>
namespace ns { class A : public B { public: int m() { return x.y(); } }; }
int ns::A::k(int) { std::move(1); auto p = new Foo(); return make<Bar>(); }
int A::k2(int) { return 1; }
""",
        {
            "import module  vector 1", "definition module  ns 2", "definition class ns A 2", "type type  B 2",
            "definition method A m 2", "call call x y 2", "call call std move 3", "call call  Foo 3",
            "call call  make 3", "definition method A k2 4",
        },
        set(),
    ),
}  # fmt: skip


def written(path: str, content: str) -> set[str]:
    return {
        f"{symbol.role} {symbol.kind} {symbol.qualifier} {symbol.name} {symbol.line}"
        for symbol in PARSER.parse(path, content).symbols
    }


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_imports_calls_and_types_are_read(path: str) -> None:
    content, present, absent = SAMPLES[path]
    found = written(path, content)
    assert present <= found
    assert PARSER.parse(path, content).parsed_by == "tree-sitter"
    assert {line.split(" ")[3] for line in found}.isdisjoint(absent)


@pytest.mark.parametrize("language", SOURCES)
def test_the_queries_of_every_language_fit_its_grammar(language: str) -> None:
    assert load(SOURCES[language]).query.pattern_count > 5


def test_a_definition_spans_its_lines_and_uses_are_counted() -> None:
    symbols = {s.name: s for s in PARSER.parse("a.py", "def f():\n    g()\n    g()\n\ndef h():\n    pass\n").symbols}
    assert (symbols["f"].line, symbols["f"].end_line) == (1, 3)
    assert (symbols["g"].line, symbols["g"].times) == (2, 2)


def test_broken_code_gives_what_can_be_read_of_it() -> None:
    found = written("a.py", "def good():\n    call(\n\nclass Half(:\n\ndef other():\n    done()\n")
    assert "definition function  good 1" in found
    assert any("done" in line for line in found)


@pytest.mark.parametrize("content", ["", "\n", "\ufeff", "\x00\x01", "渲染器 = 船()", "\ud7ff𠀀"])
def test_odd_files_are_read(content: str) -> None:
    for path in SAMPLES:
        PARSER.parse(path, content)


def test_identifiers_of_any_script_are_names() -> None:
    assert "definition function  渲染 1" in written("a.py", "def 渲染(): pass")


MONSTERS = {
    "open brackets": "(" * 300_000,
    "nested brackets": "[" * 100_000 + "]" * 100_000,
    "one long sum": "x = " + "1+" * 400_000 + "1",
    "broken definitions": "def (:\n" * 100_000,
    "one long line of calls": "f();" * 250_000,
    "nested calls": "f(" * 200_000 + ")" * 200_000,
    "open brackets in lines": "(\n" * 300_000,
    "signs in lines": "!\n" * 300_000,
    "calls of calls in lines": "a" + ".a()\n" * 100_000,
    "arrows in a line": "a=>" * 16_000,  # 10 GB in the grammar of Java
}


@pytest.mark.parametrize(("name", "path"), crossed(MONSTERS, ["a.py", "a.java", "a.cpp", "a.js"]))
def test_a_monster_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch, path: str, name: str) -> None:
    monkeypatch.setattr(tree_sitter, "MAX_PARSE_S", 0.5)
    begun = time.process_time()
    parsed = PARSER.parse(path, MONSTERS[name])
    assert time.process_time() - begun < 10
    assert parsed.parsed_by in ("tree-sitter", "words")


def test_a_grammar_is_loaded_only_when_a_file_needs_it() -> None:
    parser = TreeSitterParser()
    parser.parse("notes.md", "# text")
    assert parser._grammars == {}
    parser.parse("a.go", "package a")
    assert list(parser._grammars) == ["go"]
    assert "tree_sitter_go" in sys.modules


def test_other_languages_are_read_line_by_line() -> None:
    parsed = PARSER.parse("a.rb", "require 'set'\nclass Pot\n  def soup(x)\n    stir(x)\n  end\nend\n# def no(x)\n")
    found = [(s.role, s.name, s.line) for s in parsed.symbols]
    assert found == [
        ("import", "set", 1), ("definition", "Pot", 2), ("definition", "soup", 3), ("call", "stir", 4)
    ]  # fmt: skip
    assert (parsed.language, parsed.parsed_by) == ("ruby", "words")


def test_a_file_that_is_no_code_has_no_symbols() -> None:
    assert PARSER.parse("notes.md", "class Pot\ncall(me)").symbols == []
