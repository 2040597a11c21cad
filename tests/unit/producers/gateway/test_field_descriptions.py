"""What a docstring says of fields becomes their descriptions."""

import doctest
from typing import Any

from querymill.gateway import field_descriptions
from querymill.gateway.field_descriptions import describe_fields


def test_the_examples_hold() -> None:
    assert doctest.testmod(field_descriptions).failed == 0


def test_entries_of_several_lines_and_what_stands_around_them() -> None:
    schema: dict[str, Any] = {
        "description": "A hit.\n\nAttributes:\n    page: From 1 on; null where\n        there are none.\n"
        "    gone: No field.\n    own: Not taken.\n\nMore of it.",
        "properties": {"page": {}, "own": {"description": "its own"}, "kind": {"const": "hit"}, "other": {}},
    }
    describe_fields(schema)
    assert schema == {
        "description": "A hit.\n\nMore of it.",
        "properties": {
            "page": {"description": "From 1 on; null where there are none."},
            "own": {"description": "its own"},
            "kind": {"const": "hit", "description": "always `hit`"},
            "other": {},
        },
    }
