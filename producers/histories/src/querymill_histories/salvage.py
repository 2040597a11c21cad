"""What can still be read of a JSON text that is broken or cut: all but the records in which it is."""

import json
import re
from typing import Any, Final

from querymill_histories.beginnings import TOKEN, end_of, value_in

#: A text that is broken in more places is read as far as there.
_MOST: Final = 50
#: What may follow a value, such as the zeros of a file that was cut by a crash.
_NOTHING: Final = "\0 \t\r\n"
#: How many characters of a text have to follow an error, to know that it is none of what is not read yet.
_SURELY: Final = 16


def value_of(text: str, losses: list[str]) -> Any:
    """Return the JSON value of a text. An object in which it is broken is null; one that is cut is whole up to there.

    Each loss is added to ``losses``: ``not JSON: Expecting value in line 3, column 9``.

    Raises:
        ValueError: Nothing of it is JSON.
        RecursionError: It is nested too deeply.
    """
    decoder = json.JSONDecoder(strict=False)
    start = len(text) - len(text.lstrip())
    for _ in range(_MOST):
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            losses.append(f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}")
            span = _record_around(text, error.pos, start)
            if span is None:
                losses[-1] += "; nothing after it is read"
                break
            # Line breaks stay, so that further errors name their lines.
            text = text[: span[0]] + "null" + re.sub(r"[^\n]", " ", text[span[0] + 4 : span[1]]) + text[span[1] :]
            continue
        if text[end:].strip(_NOTHING):
            losses.append("what follows the end of its JSON")
        return value
    value = value_in(text[start : _error_at(text, decoder, start)])
    if value is None:
        raise ValueError(losses[0])
    return value


def _error_at(text: str, decoder: json.JSONDecoder, start: int) -> int:
    try:
        return decoder.raw_decode(text, start)[1]
    except json.JSONDecodeError as error:
        return error.pos


def _record_around(text: str, at: int, start: int) -> tuple[int, int] | None:
    """Return the innermost object around a place, None if it does not end, or if it is the whole text."""
    open_: list[int] = []
    for token in TOKEN.finditer(text, start):
        if token.start() >= at:
            break
        if token[0] in ("{", "["):
            open_.append(token.start())
        elif token[0] in ("}", "]") and open_:
            open_.pop()
    within = (place for place in reversed(open_) if text[place] == "{" and place != start)
    return next(((place, end) for place in within if (end := end_of(text, place)) is not None and end > at), None)


def goes_on(error: Exception, text: str) -> bool:
    """Return whether an error may be one only because the text is not read to its end."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos > len(text) - _SURELY
