"""Parts of messages as the providers' interfaces write them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list; what is no list has none."""
    if isinstance(value, list):
        yield from (part for part in value if isinstance(part, dict))


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def word(value: Any) -> str | None:
    """Return a text or a number as text, None for anything else and for a blank."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def text_of(content: Any) -> str:
    """Return the text of a content: a string, or a list of strings and of objects with a ``text``."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(filter(None, map(text_of, content)))
        case {"text": str(text)}:
            return text
        case {"content": content}:
            return text_of(content)
        case _:
            return ""


def result_of(value: Any) -> str:
    """Return the result of a tool as text."""
    if value is None:
        return ""
    return text_of(value) or (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def given(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that hold something."""
    return {name: value for name, value in about.items() if value not in (None, "", [], {})}
