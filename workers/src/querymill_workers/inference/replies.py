"""Read what providers reply. A field that can be inferred never costs a reply that has arrived.

OpenAI-compatible servers leave fields out, send null, or write a number as text. Such a reply says all that is needed,
so it is read. A reply is never completed by a guess: if two readings are possible, it is no reply.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from querymill_workers.inference.client import NoResponse, error_of_body, error_of_status
from querymill_workers.inference.complaints import words_in

#: The kinds of the parts of a message that are text. A part without a kind is text, too.
_TEXT: Final = (None, "text", "output_text")
#: The fields in which servers send reasoning apart from the answer.
_APART: Final = ("reasoning_content", "reasoning", "thinking")
#: The fields of a reply that hold what was asked for.
_CONTENT: Final = ("choices", "data", "embeddings", "output")
#: Why a provider ends a reply that it does not let through.
WITHHELD: Final = ("content_filter", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "guardrail_intervened")
#: Why a reply ends at a limit of tokens: the request's or, as Mistral says, the model's.
AT_LIMIT: Final = ("length", "model_length", "max_tokens", "MAX_TOKENS")
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
#: What a line of a stream may begin with, besides "data". A comment begins with nothing.
_FIELDS: Final = (b"", b"event", b"id", b"retry")
_BOM: Final = b"\xef\xbb\xbf"
_PAGE: Final = "an HTML page instead of JSON"


def read_object(content: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a response.

    Raises:
        NoResponse: The response is something else, or a provider's error.
        Limited, Rejected: It is a provider's error that names such a status.
    """
    if _is_page(content):
        raise NoResponse(_PAGE)
    reply = _unwrapped(_parsed(content))
    if not isinstance(reply, Mapping):
        raise NoResponse(f"a JSON {type(reply).__name__} instead of an object")
    if error := error_in(reply) or _words_instead(reply):
        raise error
    return reply


def _words_instead(reply: Mapping[str, Any]) -> Exception | None:
    """Return the error for a reply without anything that was asked for, but with words, or None if it is another."""
    has_content = any(reply.get(name) for name in _CONTENT)
    return error_of_body(reply) if not has_content and words_in(reply) else None


def error_in(reply: Mapping[str, Any]) -> Exception | None:
    """Return the error that a provider sends with HTTP 200 or within a stream, or None if it is none."""
    error = reply.get("error") or first_choice(reply).get("error")
    if not error and (reply.get("object") == "error" or reply.get("type") == "error"):
        error = reply
    if not error:
        return None
    status = whole_in(error.get("code", error.get("status"))) if isinstance(error, Mapping) else None
    if status is not None and 400 <= status < 600:
        return error_of_status(status, {}, body=error)
    return error_of_body(error)


def error_instead(content: bytes) -> Exception | None:
    """Return the error for a response that is a page or a provider's error, or None if it is neither."""
    try:
        reply = _unwrapped(_parsed(content))
    except ValueError:
        return NoResponse(_PAGE) if _is_page(content) else None
    return error_in(reply) if isinstance(reply, Mapping) else None


def _unwrapped(reply: Any) -> Any:
    """Return an error that stands in a list, as Google sends it, and anything else as it is."""
    is_error = isinstance(reply, list) and len(reply) == 1 and isinstance(reply[0], Mapping) and "error" in reply[0]
    return reply[0] if is_error else reply


def _parsed(content: bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: It is none, or nested without end.
    """
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deep") from error


def _is_page(content: bytes) -> bool:
    return content.removeprefix(_BOM).lstrip().startswith(b"<")


def text_in(content: object) -> str:
    """Return the text of a message: a string, or a list of parts of which some may be reasoning."""
    if isinstance(content, Mapping):
        text = content.get("text") if content.get("type") in _TEXT else None
        content = text if isinstance(text, str) else ""
    if isinstance(content, list):
        return "".join(map(text_in, content))
    # Half of a surrogate pair cannot be stored.
    return content.encode("utf-8", "ignore").decode("utf-8") if isinstance(content, str) else ""


def first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice of a reply, or an empty mapping if there is none."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, Mapping) else {}


def reasoning_in(said: Mapping[str, Any]) -> str:
    """Return the reasoning that a server sends apart from the answer, in any of the fields that servers use."""
    parts = said.get("content")
    apart = [said.get(name) for name in _APART]
    apart += (
        [part.get(name) for part in parts if isinstance(part, Mapping) for name in _APART]
        if isinstance(parts, list)
        else []
    )
    return "".join(map(text_in, apart))


def is_withheld(finish: str | None) -> bool:
    """Return whether a reply ended because the provider did not let it through."""
    return finish is not None and (finish in WITHHELD or finish.startswith("content_filter"))


def why_empty(choice: Mapping[str, Any], finish: str | None, *, reasoned: bool) -> str:
    """Return why a reply holds no word of an answer."""
    said = field_in(choice, "message") or field_in(choice, "delta")
    if is_withheld(finish):
        return f"empty reply: the provider withheld it ({finish})"
    if isinstance(said.get("refusal"), str) and said["refusal"]:
        return "empty reply: the model refused"
    if reasoned:
        return "the reply holds reasoning only"
    return f"empty reply ({finish})" if finish not in (None, "", "stop") else "empty reply"


def field_in(choice: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object of a choice, such as its ``message``, or an empty mapping if there is none."""
    found = choice.get(name)
    return found if isinstance(found, Mapping) else {}


def places_of(indexes: Sequence[object], count: int) -> list[int] | None:
    """Return the place of each of ``count`` items, or None if their indexes contradict each other.

    Where no item has an index, or all have the same, the position stands for it. A single index that was left out is
    the one that is missing. Other indexes that were left out are positions, if that fits the rest.
    """
    if len(indexes) != count:
        return None
    known = [whole_in(index) for index in indexes]
    if len(set(known)) <= 1 and set(known) <= {None, *range(count)}:
        return list(range(count))
    missing = set(range(count)) - set(known)
    if known.count(None) == 1 and len(missing) == 1:
        left = missing.pop()
        return [left if place is None else place for place in known]
    places = [position if place is None else place for position, place in enumerate(known)]
    return places if sorted(places) == list(range(count)) else None


def events_in(content: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a stream of events up to ``[DONE]`` or its end.

    A response that is one JSON object, although a stream was requested, is its only event. Comments and empty events
    are skipped: servers send them to keep the connection open.

    Raises:
        NoResponse: The response is neither a stream nor a JSON object.
        ValueError: An event is not JSON.
    """
    kind, held, other, is_stream = b"", list[bytes](), list[bytes](), False
    for line in _lines(content):
        field, value = _field(line)
        if field == b"data":
            is_stream = True
            if not held and value == b"[DONE]":
                return
            # Some servers leave out the blank line after an event.
            if not held and (event := _event(kind, value)) is not None:
                yield event
                kind = b""
            else:
                held.extend([value] if value else ())
        elif field == b"event":
            kind = value
        elif not line.strip():
            yield from _rest(kind, held)
            kind, held = b"", []
        elif field is None:
            other.append(line)
            yield from _bare(kind, line, is_stream=is_stream)
    yield from _rest(kind, held)
    yield from [] if is_stream else [read_object(b"\n".join(other))]


def _field(line: bytes) -> tuple[bytes | None, bytes]:
    """Return the name of a line's field, which is empty for a comment, and its value. No field has no name."""
    name, colon, value = line.partition(b":")
    name = name.removeprefix(_BOM)
    return name if name == b"data" or (colon and name in _FIELDS) else None, value.strip()


def _bare(kind: bytes, line: bytes, *, is_stream: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the object of a line without a field: Ollama reports an error within a stream that way."""
    event = _event(kind, line) if is_stream else None
    yield from [event] if event else []


def _rest(kind: bytes, held: Sequence[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the event that came over several lines, if there is one.

    Raises:
        ValueError: The event is not JSON.
    """
    if held:
        yield _named(kind, _parsed(b"\n".join(held)))


def _event(kind: bytes, data: bytes) -> Mapping[str, Any] | None:
    """Return the event of one line, or None if its data is not complete."""
    try:
        return _named(kind, _parsed(data))
    except ValueError:
        return None


def _named(kind: bytes, event: Any) -> Mapping[str, Any]:
    """Return an event as an object. Some servers call it an error by its kind alone."""
    if not isinstance(event, Mapping):
        return {}
    return {"error": event} if kind == b"error" and "error" not in event else event


def _lines(content: Iterable[bytes]) -> Iterator[bytes]:
    begun: list[bytes] = []
    for part in content:
        first, *others = _LINE_END.split(part)
        begun.append(first)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
    yield b"".join(begun)


def whole_in(value: object) -> int | None:
    """Return a whole number that may be written as text or as 1.0, or None if it is none."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value) if isinstance(value, int | float | str) else None
    except (OverflowError, ValueError):
        return None
    return int(number) if number is not None and number.is_integer() else None
