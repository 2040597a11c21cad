"""Files of attributes: which kinds they state, and what they leave alone."""

from pathlib import Path

import pytest

from querymill.code_bases.attributes import Attributes


def stated(tmp_path: Path, written: str, *paths: str) -> list[str | None]:
    (tmp_path / ".gitattributes").write_text(written)
    attributes = Attributes().within(tmp_path)
    return [attributes.kind_of(tmp_path / path) for path in paths]


KINDS = [
    ("*.pb.go linguist-generated=true", "deep/a.pb.go", "generated"),
    ("*.pb.go linguist-generated", "a.go", None),
    ("vendor/** linguist-vendored", "vendor/deep/a.js", "generated"),
    ("vendor/* linguist-vendored", "vendor/a.js", "generated"),
    ("vendor/* linguist-vendored", "vendor/deep/a.js", None),
    ("vendor linguist-vendored", "vendor/a.js", None),
    ("vendor/ linguist-vendored", "vendor/a.js", None),
    ("/a.js linguist-generated", "deep/a.js", None),
    ('"with blank.js" text linguist-generated', "with blank.js", "generated"),
    ("guide/** linguist-documentation", "guide/a.py", "documentation"),
    ("dist/** -linguist-generated", "dist/a.js", "code"),
    ("dist/** linguist-generated=false", "dist/a.js", "code"),
    ("*.js linguist-generated\na.js !linguist-generated", "a.js", None),
    ("*.js linguist-generated\na.js -linguist-generated", "a.js", "code"),
    ("a.js -linguist-generated\n*.js linguist-vendored", "a.js", "generated"),
    ("a.py export-ignore", "a.py", None),
    ("# *.js linguist-generated", "a.js", None),
    ("[attr]mine linguist-generated", "mine", None),
    ("!*.js linguist-generated", "a.js", None),
    ("*.js", "a.js", None),
]


@pytest.mark.parametrize(("written", "path", "kind"), KINDS)
def test_the_last_line_that_matches_states_the_kind(tmp_path: Path, written: str, path: str, kind: str | None) -> None:
    assert stated(tmp_path, written, path) == [kind]


def test_a_folder_below_says_more_than_the_folder_above(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / ".gitattributes").write_text("*.js linguist-generated\n")
    (tmp_path / "x/.gitattributes").write_text("a.js -linguist-generated\n")
    attributes = Attributes().within(tmp_path).within(tmp_path / "x")
    assert attributes.kind_of(tmp_path / "x/a.js") == "code"
    assert attributes.kind_of(tmp_path / "x/b.js") == "generated"
