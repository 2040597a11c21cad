"""What a form says of hits."""

from typing import Any

import pytest

from querymill.gateway.console.judging import said_in
from querymill.presenting.hit import HitView
from querymill_shared.contracts.errors import InvalidRequest

HITS = [HitView(None, title) for title in ("first", "second")]


def test_a_field_says_of_a_hit_how_relevant_it_is() -> None:
    # A field relevance-2 of "3" says of the second that it is exactly right.
    said = list(said_in({"relevance-1": [""], "relevance-2": ["3"], "from": [""]}, HITS))
    assert [(each.view.title, each.relevance) for each in said] == [("second", 3)]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, ("relevance", "choose for at least one hit how relevant it is")),
        ({"relevance-1": ""}, ("relevance", "choose for at least one hit how relevant it is")),
        ({"relevance-3": "1"}, ("hit", "must be the number of a hit of the result")),
        ({"relevance-x": "1"}, ("hit", "must be the number of a hit of the result")),
        ({"relevance-1": "4"}, ("relevance", "must be one of: 0, 1, 2, 3")),
    ],
)
def test_what_says_nothing_is_refused(fields: dict[str, Any], error: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        list(said_in({name: [value] for name, value in fields.items()}, HITS))
    assert refused.value.errors == (error,)
