"""What a text must be written like is told in words, wherever it is told."""

import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import StringConstraints, TypeAdapter, ValidationError

import querymill
import querymill_shared
from querymill.cli.endings import rules_broken
from querymill.cli.search import search_of
from querymill.keys import NameOrAll
from querymill_shared.contracts.errors import rule_text
from querymill_shared.contracts.fields import CollectionName, Sha1
from querymill_shared.contracts.files.ingest import Sha256
from querymill_shared.contracts.files.search import Glob
from querymill_shared.contracts.modules.ingest import ModuleName


@pytest.mark.parametrize(
    ("type_", "right", "wrong", "rule"),
    [
        (CollectionName, "filings-2023", "bad name", "must be 1 to 64 letters (A to Z)"),
        (CollectionName, "a" * 64, "a" * 65, "must be 1 to 64 letters (A to Z)"),
        (CollectionName, "a", "a\n", "must be 1 to 64 letters (A to Z)"),
        (Sha1, "a1", "a/1", "must be 1 to 100 letters (A to Z)"),
        (Sha256, "0" * 64, "0" * 63, "must be 64 hexadecimal digits"),
        (ModuleName, "vtk.Cone", "a-b", "must be the name of a module"),
        (Glob, "*.py", " ", "must not be blank"),
        (NameOrAll, "*", "**", "must be * for all"),
    ],
)
def test_a_text_that_is_written_otherwise_is_answered_in_words(type_: Any, right: str, wrong: str, rule: str) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(type_)
    assert adapter.validate_python(right) == right
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python(wrong)
    (entry,) = caught.value.errors()
    assert rule_text(entry).startswith(rule)
    assert not re.search(r"[\^\[\]{}]|pattern", entry["msg"])
    assert adapter.json_schema()["pattern"].startswith("^")


def test_a_pattern_without_words_is_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Annotated[str, StringConstraints(pattern="^x$")]).validate_python("y")
    assert rule_text(caught.value.errors()[0]) == "must be written otherwise"


def test_a_field_of_a_search_is_named_without_its_kind() -> None:
    with pytest.raises(ValidationError) as caught:
        search_of({"kind": "reports", "collection": "bad name"})
    collection, query = sorted(rules_broken(caught.value))
    assert collection.startswith("collection: must be 1 to 64 letters")
    assert query == "query: Field required"


def test_every_pattern_of_a_contract_has_its_words() -> None:
    homes = (Path(querymill_shared.__path__[0]), Path(querymill.__path__[0]))
    bare = [
        path.name
        for home in homes
        for path in home.rglob("*.py")
        if re.search(r"(StringConstraints|Field|Query|Path)\([^()]*\bpattern=", path.read_text())
    ]
    assert bare == []
