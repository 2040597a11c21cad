"""What the first characters of a JSON file hold, wherever they end."""

import json
import re
from typing import Any, Final

#: What gives a JSON text its structure: texts are skipped as one, an unfinished one too.
TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
_CLOSES: Final = {"{": "}", "[": "]"}
#: Lines that are looked at.
_LINES: Final = 50


def records_in(text: str) -> list[dict[str, Any]]:
    """Return the objects of a list, or of lines, or the one object, that a text begins with.

    ``[{"id": 1, "texts": ["a", "b`` is ``[{"id": 1, "texts": ["a"]}]``. A line that is no JSON is passed over.
    """
    text = text.lstrip()
    if text.startswith("["):
        value = value_in(text)
        listed = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
        if listed:
            return listed
    whole = value_in(text) if text.startswith("{") else None
    records = [whole] if isinstance(whole, dict) else []
    lines = text.split("\n", _LINES)[:_LINES]
    values = [value_in(line) for line in (lines[1:] if records else lines) if line.startswith("{")]
    return records + [value for value in values if isinstance(value, dict)]


def value_in(text: str) -> Any:
    """Return the JSON value that a text begins with, without what is not whole at its end; None if it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass
    end, closing = _last_whole(text)
    try:
        return json.loads(text[:end] + closing, strict=False)
    except (ValueError, RecursionError):
        return None


def _last_whole(text: str) -> tuple[int, str]:
    """Return up to where a text consists of whole values, and the brackets that are open there."""
    open_: list[str] = []
    end, closing = 0, ""
    for token in TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                open_.append(token[0])
                end = token.end()
            case "}" | "]":
                if not open_:
                    break
                open_.pop()
                end = token.end()
            case ",":
                end = token.start()
            case _:
                continue
        closing = "".join(_CLOSES[bracket] for bracket in reversed(open_)) if len(open_) < 200 else ""
    return end, closing
