"""Filters on the command line."""

from typing import Any

import pytest

from querymill.filters import read_filter


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
