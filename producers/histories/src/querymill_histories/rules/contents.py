"""Parts of messages as the providers' interfaces write them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from querymill_histories.rules.remarks import NO_OBJECTS, NO_TEXTS

_INFINITE: Final = float("inf")


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list; what is no list has none."""
    if isinstance(value, list):
        yield from (part for part in value if isinstance(part, dict))


def records(value: Any, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list; what else is in it, or stands for it, is counted."""
    if value is not None and not isinstance(value, list):
        left_out[NO_OBJECTS] += 1
        return
    for part in value or ():
        if isinstance(part, dict):
            yield part
        else:
            left_out[NO_OBJECTS] += 1


def spoken(value: Any, left_out: Counter[str], between: str = "\n") -> str:
    """Return what was said: a text, a number as text, or the texts of a list. What is none of them is counted."""
    text = word(value) or text_of(value, between).strip()
    left_out[NO_TEXTS] += not text and not isinstance(value, str) and value not in (None, [], {}, False)
    return text


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def word(value: Any) -> str | None:
    """Return a text or a number as text, None for anything else and for a blank."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value in (_INFINITE, -_INFINITE):
        return None
    if value != value:  # no number, which Python's JSON has a word for
        return None
    return str(value).strip() or None


def text_of(content: Any, between: str = "\n") -> str:
    """Return the text of a content: a string, or a list of strings and of objects with a ``text``."""
    match content:
        case str():
            return content
        case list():
            return between.join(filter(None, (text_of(part, between) for part in content)))
        case {"text": str(text)}:
            return text
        case {"content": content}:
            return text_of(content, between)
        case _:
            return ""


def result_of(value: Any) -> str:
    """Return the result of a tool as text."""
    if value is None:
        return ""
    return text_of(value) or (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def given(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that hold a text, a number, or a list of texts."""
    kept: dict[str, Any] = {}
    for name, value in about.items():
        listed = [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else None
        if told := listed or (value if word(value) or isinstance(value, bool) else None):
            kept[name] = told
    return kept
