"""What lies on a queue: a bell as Celery writes it, and all sorts of things that are none."""

import base64
import bz2
import json
import zlib
from copy import deepcopy
from typing import Any

from querymill_shared.queues import Queue, task_of

JOB_ID = "0123456789abcdef0123456789abcdef"


def body_of(content: object) -> str:
    return base64.b64encode(json.dumps(content).encode()).decode()


def rung(job_id: str = JOB_ID, step: str = "original", queue: Queue = Queue.SEARCH) -> dict[str, Any]:
    """A bell as a client of ours puts it on a queue."""
    message_id = "e8e1a6d5-7f38-4e1d-94b1-061e632a0aa9"
    return {
        "body": body_of([[job_id, step], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py", "task": task_of(queue), "id": message_id, "shadow": None, "eta": None, "expires": None,
            "group": None, "group_index": None, "retries": 0, "timelimit": [None, None], "root_id": message_id,
            "parent_id": None, "argsrepr": "", "kwargsrepr": "", "origin": "gen1@host", "ignore_result": None,
            "replaced_task_nesting": 0, "stamped_headers": None, "stamps": {},
        },
        "properties": {
            "correlation_id": message_id, "reply_to": "8006f815-e9e1-349e-b28f-6be5f30f3711", "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue.value}, "priority": 0, "body_encoding": "base64",
            "delivery_tag": "8184343c-75cb-43af-8cd5-010a9b8b6a1e",
        },
    }  # fmt: skip


def changed(*path: str, to: object) -> bytes:
    """A bell with one value replaced."""
    message = deepcopy(rung())
    inner = message
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return json.dumps(message).encode()


def without(*path: str) -> bytes:
    """A bell that lacks one value."""
    message = deepcopy(rung())
    inner = message
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return json.dumps(message).encode()


def bomb(compression: str, body: bytes) -> bytes:
    message = rung()
    message["headers"]["compression"] = compression
    message["body"] = base64.b64encode(body).decode()
    return json.dumps(message).encode()


#: Each of these has ended a worker process.
DEADLY: dict[str, bytes] = {
    "garbage": b"garbage",
    "nothing": b"",
    "an empty list": b"[]",
    "null": b"null",
    "a number": b"7",
    "no UTF-8": b"\xff\xfe\x00",
    "brackets without an end": b"[" * 5_000,
    "another body: null": changed("body", to=body_of(None)),
    "another body: a number": changed("body", to=body_of(5)),
    "another body: an object": changed("body", to=body_of({})),
    "another body: an empty list": changed("body", to=body_of([])),
    "no base64": changed("body", to="%%%a"),
    "content type absent": without("content-type"),
    "content type unknown": changed("content-type", to="application/x-unknown"),
    "body encoding unknown": changed("properties", "body_encoding", to="rot13"),
    "headers a list": changed("headers", to=[1]),
    "time limits a text": changed("headers", "timelimit", to="x"),
    "a list for a task": changed("headers", "task", to=[1]),
    "a list for an id": changed("headers", "id", to=[1]),
    "a bomb": bomb("bzip2", bz2.compress(bytes(50_000_000))),
}
NO_BELLS: dict[str, bytes] = DEADLY | {
    "a list": b"[1, 2]",
    "an empty object": b"{}",
    "a number beyond all": b"1" * 5_000,
    "UTF-16": json.dumps(rung()).encode("utf-16"),
    "another body: brackets without an end": changed("body", to=base64.b64encode(b"[" * 3_000).decode()),
    "another body: no text": changed("body", to=None),
    "another body: none": without("body"),
    "arguments that are none": changed("body", to=body_of([7, {}, {}])),
    "arguments of other types": changed("body", to=body_of([[["a"], {}], {}, {}])),
    "an empty job id": changed("body", to=body_of([["", "original"], {}, {}])),
    "half a character": changed("body", to=body_of([[JOB_ID, "\ud800"], {}, {}])),
    "keywords": changed("body", to=body_of([[JOB_ID, "original"], {"step": "hyde"}, {}])),
    "a callback": changed("body", to=body_of([[JOB_ID, "original"], {}, {"callbacks": [{"task": "x"}]}])),
    "content type of pickle": changed("content-type", to="application/x-python-serialize"),
    "content type a list": changed("content-type", to=[1]),
    "content encoding unknown": changed("content-encoding", to="klingon"),
    "body encoding a list": changed("properties", "body_encoding", to=[1]),
    "properties a list": changed("properties", to=[]),
    "properties absent": without("properties"),
    "headers null": changed("headers", to=None),
    "headers absent": without("headers"),
    "expires a text": changed("headers", "expires", to="never"),
    "a far eta": changed("headers", "eta", to="9999-01-01T00:00:00"),
    "a task that is not there": changed("headers", "task", to="nobody's"),
    "a task of another queue": changed("headers", "task", to=task_of(Queue.RANKS)),
    "a task of Celery's": changed("headers", "task", to="celery.group"),
    "no id": without("headers", "id"),
    "a large bomb": bomb("zlib", zlib.compress(bytes(50_000_000))),
    "a compression that is none": changed("headers", "compression", to=[1]),
    "too long": changed("headers", "origin", to="x" * 100_000),
}
