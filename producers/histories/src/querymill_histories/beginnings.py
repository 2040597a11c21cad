"""What the first characters of a JSON file hold, wherever they end."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

#: What gives a JSON text its structure: texts are skipped as one, an unfinished one too.
TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
_CLOSES: Final = {"{": "}", "[": "]"}
#: A value without brackets, or a bracket that closes nothing.
_PLAIN: Final = re.compile(r"\}|[^,\]}]*")
#: What stands between the elements of a list.
_BETWEEN: Final = re.compile(r"[, \t\r\n]*")
#: Lines that are looked at.
_LINES: Final = 50


def records_in(text: str) -> list[dict[str, Any]]:
    """Return the objects of a list, or of lines, or the one object, that a text begins with.

    ``[{"id": 1, "texts": ["a", "b`` is ``[{"id": 1, "texts": ["a"]}]``. A line that is no JSON is passed over.
    """
    text = text.lstrip()
    if text.startswith("["):
        listed = [element for element in _elements_in(text) if isinstance(element, dict)]
        if listed:
            return listed
    whole = value_in(text) if text.startswith("{") else None
    records = [whole] if isinstance(whole, dict) else []
    lines = text.split("\n", _LINES)[:_LINES]
    values = [value_in(line) for line in (lines[1:] if records else lines) if line.startswith("{")]
    return records + [value for value in values if isinstance(value, dict)]


def _elements_in(text: str) -> Iterator[Any]:
    """Yield the elements of a list, without those that are broken, and the whole part of the last."""
    decoder = json.JSONDecoder(strict=False)
    at = 1
    while (at := _after(text, at)) < len(text) and text[at] != "]":
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            ends = end_of(text, at)
            if ends is None:
                yield value_in(text[at:])
                return
            at = ends
        else:
            yield value
            at = end


def _after(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def end_of(text: str, at: int) -> int | None:
    """Return where a value ends that begins at a place, by its brackets; None if it does not end."""
    if text[at : at + 1] not in ("{", "["):
        match = _PLAIN.match(text, at)
        return match.end() if match and match.end() < len(text) else None
    depth = 0
    for token in TOKEN.finditer(text, at):
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def value_in(text: str) -> Any:
    """Return the JSON value that a text begins with, without what is not whole at its end; None if it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except json.JSONDecodeError as error:
        return next((value for cut in (text, text[: error.pos]) if (value := _closed(cut)) is not None), None)
    except RecursionError:
        return _closed(text)


def _closed(text: str) -> Any:
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
