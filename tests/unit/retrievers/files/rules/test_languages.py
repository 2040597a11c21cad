import pytest

from querymill_workers.retrievers.files.parsing.grammars import SOURCES
from querymill_workers.retrievers.files.rules.languages import language_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"), ("deep/er/A.PY", "python"), ("a.h", "cpp"), ("a.c", "c"), ("a.tsx", "tsx"),
        ("a.test.js", "javascript"), ("a.R", "r"), ("notes.md", ""), ("Makefile", "make"),
        ("LICENSE", ""), (".py", ""), ("py", ""),
        ("a.py.orig", ""), ("a.", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_language_is_recognised_by_the_extension(path: str, language: str) -> None:
    assert language_of(path) == language


def test_every_grammar_is_reached_by_an_extension() -> None:
    paths = ["a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.rs", "a.c", "a.cpp"]
    assert {language_of(path) for path in paths} == set(SOURCES)


def test_a_notebook_has_the_language_of_its_cells() -> None:
    assert language_of("a.ipynb", "# notebook: python\n# %% cell 1\n") == "python"
    assert language_of("a.ipynb", "// notebook: scala\n") == "scala"
    assert language_of("a.ipynb", '{"cells": []}') == ""
