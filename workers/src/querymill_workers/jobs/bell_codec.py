"""Read bells from a queue, and tell them apart from anything else that the queue may hold.

A bell is a Celery message for the one task of its queue. It names a job id and a step. Only these and the message's id
reach Celery: the message is rebuilt from them, because a message has many other fields that make Celery do more.
"""

import base64
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic_core import from_json

from querymill_shared.values import value

#: Longer elements are rejected unread. A bell has about a thousand bytes.
MAX_BELL_BYTES = 8_192


class NoBell(StrEnum):
    """Why an element is not a bell."""

    TOO_LONG = "too long"
    NO_JSON = "no JSON"
    NO_MESSAGE = "no message as Celery writes it"
    OTHER_TASK = "for no task of this queue"
    CONDITIONS = "compressed, delayed or limited in time"
    OTHER_BODY = "something else than a job id and a step"
    NO_LIST = "a key that is no list"


@value
class Rung:
    """The content of a bell, and the id of its message."""

    message_id: str
    job_id: str
    step: str


def heard(element: bytes, task: str) -> Rung | NoBell:
    """Read an element of a Redis list of bells for one task. Never raises, whatever the bytes are."""
    if len(element) > MAX_BELL_BYTES:
        return NoBell.TOO_LONG
    try:
        message = from_json(element)
    except ValueError:
        return NoBell.NO_JSON
    match message:
        case {
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "properties": {"body_encoding": "base64"},
            "headers": dict(headers),
            "body": str(body),
        }:
            pass
        case _:
            return NoBell.NO_MESSAGE
    try:
        return told(headers, base64.b64decode(body, validate=True), task)
    except ValueError:
        return NoBell.OTHER_BODY


def told(headers: Mapping[str, Any], body: bytes, task: str) -> Rung | NoBell:
    """Read the headers and the body of a message for a task. Never raises, whatever they hold."""
    if len(body) > MAX_BELL_BYTES:
        return NoBell.TOO_LONG
    match headers:
        case {"task": str(named), "id": str(message_id)} if named == task and is_name(message_id):
            pass
        case _:
            return NoBell.OTHER_TASK
    # Waiting is the board's business, and a decompressed body may have any size.
    if any(headers.get(name) for name in ("compression", "eta", "expires")):
        return NoBell.CONDITIONS
    if headers.get("timelimit") not in (None, [None, None]):
        return NoBell.CONDITIONS
    try:
        content = from_json(body)
    except ValueError:
        return NoBell.OTHER_BODY
    match content:
        case [[str(job_id), str(step)], dict(keywords), dict(follow_ups)] if is_name(job_id) and is_name(step):
            if not keywords and not any(follow_ups.values()):
                return Rung(message_id, job_id, step)
        case _:
            pass
    return NoBell.OTHER_BODY


def is_name(text: str) -> bool:
    """Return whether a text may be an id or the name of a step."""
    return 0 < len(text) <= 200 and text.isprintable()


def headers_of(rung: Rung, task: str) -> dict[str, Any]:
    """Return the headers that Celery needs."""
    return {"lang": "py", "task": task, "id": rung.message_id}


def body_of(rung: Rung) -> bytes:
    """Return the body of a message as Celery reads it: arguments, keywords, callbacks."""
    return json.dumps([[rung.job_id, rung.step], {}, {}]).encode()


def element_of(rung: Rung, queue: str, task: str) -> bytes:
    """Return a bell as an element of a Redis list."""
    message = {
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": headers_of(rung, task),
        "properties": {
            "body_encoding": "base64",
            "delivery_tag": rung.message_id,
            "delivery_info": {"exchange": "", "routing_key": queue},
        },
        "body": base64.b64encode(body_of(rung)).decode(),
    }
    return json.dumps(message).encode()
