"""What breaks rules in a million places costs little more to refuse than to read as JSON."""

import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator

import pytest
from pydantic import ValidationError

from querymill.broken_rules import rules_broken
from querymill.gateway.http.problems import of_rules
from querymill.ingesting.kinds import KINDS
from querymill_shared.contracts.errors import MAX_ERRORS, first_errors
from querymill_shared.contracts.jobs import validate_request

N = 60_000


def request(kind: str, field: str, values: Iterable[str], *, row: bool = True) -> bytes:
    """A request whose field has these values, as a row or as an object."""
    inside = ",".join(values)
    return f'{{"kind":"{kind}","collection":"a","{field}":{f"[{inside}]" if row else f"{{{inside}}}"}}}'.encode()


def fields(name: str, count: int = N) -> Iterator[str]:
    return (f'"{name}{number}":0' for number in range(count))


BODIES = {
    "hits": request("rerank", "hits", ["0"] * N),
    "texts": request("embed", "texts", ["{}"] * N),
    "documents in documents": request("ingest_reports", "documents", ['{"pages":[{},{},{}]}'] * (N // 4)),
    "messages of sessions": request("ingest_messages", "documents", ['{"messages":[{},[],{}]}'] * (N // 4)),
    "ids": request("drop_documents", "ids", ["[]"] * N),
    "channels": request("files", "channels", ["0"] * N),
    "sub-queries": request("modules", "sub_queries", ["[]"] * N),
    "unknown fields": request("reports", "query", ["0"])[:-1] + b"," + ",".join(fields("a")).encode() + b"}",
    "files": request("compare_files", "files", fields("a", 2 * N), row=False),
    "conditions": request("reports", "filter", fields("a "), row=False),
}
#: A refusal that lists a million errors costs a hundred times as much as reading the JSON.
DEAREST = 25


def cost(act: Callable[[], object]) -> float:
    """The least processor time of several runs, in seconds. What other tests have left in memory costs nothing here."""

    def once() -> float:
        begun = time.process_time()
        act()
        return time.process_time() - begun

    gc.disable()
    try:
        return min(once() for _ in range(3))
    finally:
        gc.enable()


def refuse(body: bytes) -> None:
    with pytest.raises(ValidationError) as broken:
        validate_request(body)
    assert len(of_rules(broken.value).detail) < 5_000


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_request_is_refused_cheaply(body: bytes) -> None:
    assert cost(lambda: refuse(body)) <= DEAREST * cost(lambda: json.loads(body))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
@pytest.mark.parametrize("value", ["0", "{}", "[]"])
def test_a_line_is_refused_cheaply(kind: object, value: str) -> None:
    lines = kind.documents  # type: ignore[attr-defined]
    names = ("pages", "messages", "aliases", "meta_info", "sha1", "title", "session_id", "path", "content")
    row = ",".join([value] * (N // 8))
    inside = ",".join(f'"{name}":[{row}]' for name in names)
    line = f"{{{inside}}}".encode()

    def refuse_line() -> None:
        with pytest.raises(ValueError) as broken:  # noqa: PT011  # which one is not the point
            lines.document_of(line)
        assert rules_broken(broken.value)

    assert cost(refuse_line) <= DEAREST * cost(lambda: json.loads(line))


def test_what_breaks_too_many_rules_is_counted() -> None:
    with pytest.raises(ValidationError) as broken:
        validate_request(BODIES["unknown fields"])
    assert broken.value.error_count() > MAX_ERRORS
    assert first_errors(broken.value, 3)[0]["msg"].endswith("rules, too many to list")
    assert [field for field, _ in of_rules(broken.value).errors] == ["request"]
