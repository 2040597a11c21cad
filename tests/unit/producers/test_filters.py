"""Filters on the command line."""

from typing import Any

import pytest

from querymill.filters import read_filter, write_filter


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ([], {}),
        (["team=red"], {"team": "red"}),
        (["team=red", "team=blue"], {"team": ["red", "blue"]}),
        (["team=a=b"], {"team": "a=b"}),
        (["year=2026"], {"year": [2026, "2026"]}),
        (["year=2025", "year=2026"], {"year": [2025, "2025", 2026, "2026"]}),
        (["done=true"], {"done": [True, "true"]}),
        (["year>=2024", "year<=2026.5"], {"year": {"from": 2024, "to": 2026.5}}),
        (["session_id=7"], {"session_id": "7"}),
        (["session_id>=7"], {"session_id": {"from": "7"}}),
        (["time>=2026-01-01"], {"time": {"from": "2026-01-01"}}),
        (["path^=src/"], {"path": {"prefix": "src/"}}),
        (["gone=null"], {"gone": None}),
        (['tag=["a", null]'], {"tag": ["a", None]}),
        (['n={"from": 3}'], {"n": {"from": 3}}),
        (["n=NaN"], {"n": "NaN"}),
        (["empty="], {"empty": ""}),
    ],
)
def test_conditions_are_read(written: list[str], read: dict[str, Any]) -> None:
    assert read_filter(written, "messages") == read


@pytest.mark.parametrize(
    ("conditions", "written"),
    [
        ({"team": "red", "path": "a=b", "empty": ""}, ["team=red", "path=a=b", "empty="]),
        ({"team": "2026", "gone": None, "word": "null"}, ['team=["2026"]', "gone=null", 'word=["null"]']),
        ({"year": 2026, "done": True, "session_id": "7"}, ["year=[2026]", "done=[true]", "session_id=7"]),
        (
            {"year": {"from": 2024, "to": 2026.5}, "tag": ["a", None]},
            ['year={"from": 2024, "to": 2026.5}', 'tag=["a", null]'],
        ),
    ],
)
def test_conditions_are_written_as_they_are_read(conditions: dict[str, Any], written: list[str]) -> None:
    assert write_filter(conditions, "messages") == written
    alike = {name: [value] if isinstance(value, str | int) else value for name, value in conditions.items()}
    read = read_filter(written, "messages")
    assert {name: [value] if isinstance(value, str) else value for name, value in read.items()} == alike


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["team"], "'team' is not name=value"),
        (["=red"], "'=red' is not name=value"),
        (["n={3"], "'{3' is not JSON"),
        (["n>=3", "n>=4"], "conditions on 'n' cannot be joined"),
        (["n=3", "n<=4"], "conditions on 'n' cannot be joined"),
        (["n=null", "n=4"], "conditions on 'n' cannot be joined"),
    ],
)
def test_what_cannot_be_read_is_named(written: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_filter(written, "messages")
