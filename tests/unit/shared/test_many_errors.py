"""What breaks rules in a million places costs little more to refuse than to read as JSON."""

import json
import time
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from querymill.gateway.problems import of_rules
from querymill.kinds import KINDS
from querymill.lines import rules_broken
from querymill_shared.contracts.errors import MAX_ERRORS, first_errors
from querymill_shared.contracts.jobs import validate_request

N = 60_000
BODIES = {
    "hits": '{"kind":"rerank","collection":"a","query":"x","hits":[%s]}' % ",".join(["0"] * N),
    "texts": '{"kind":"embed","collection":"a","texts":[%s]}' % ",".join(["{}"] * N),
    "documents in documents": '{"kind":"load_reports","collection":"a","reports":[%s]}'
    % ",".join(['{"pages":[{},{},{}]}'] * (N // 4)),
    "messages of sessions": '{"kind":"load_sessions","collection":"a","sessions":[%s]}'
    % ",".join(['{"messages":[{},[],{}]}'] * (N // 4)),
    "ids": '{"kind":"drop_documents","retriever":"reports","collection":"a","ids":[%s]}' % ",".join(["[]"] * N),
    "channels": '{"kind":"files","collection":"a","query":"x","channels":[%s]}' % ",".join(["0"] * N),
    "sub-queries": '{"kind":"modules","collection":"a","query":"x","sub_queries":[%s]}' % ",".join(["[]"] * N),
    "unknown fields": '{"kind":"reports","collection":"a","query":"x",%s}' % ",".join(f'"a{n}":0' for n in range(N)),
    "files": '{"kind":"compare_files","collection":"a","files":{%s}}' % ",".join(f'"a{n}":0' for n in range(2 * N)),
    "conditions": '{"kind":"reports","collection":"a","query":"x","filter":{%s}}'
    % ",".join(f'"a {n}":0' for n in range(N)),
}
#: A refusal that lists a million errors costs a hundred times as much as reading the JSON.
DEAREST = 25


def cost(act: Callable[[], object]) -> float:
    """The least processor time of several runs, in seconds."""

    def once() -> float:
        begun = time.process_time()
        act()
        return time.process_time() - begun

    return min(once() for _ in range(3))


def refuse(body: bytes) -> None:
    with pytest.raises(ValidationError) as broken:
        validate_request(body)
    assert len(of_rules(broken.value).detail) < 5_000


@pytest.mark.parametrize("body", [text.encode() for text in BODIES.values()], ids=BODIES)
def test_a_request_is_refused_cheaply(body: bytes) -> None:
    assert cost(lambda: refuse(body)) <= DEAREST * cost(lambda: json.loads(body))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
@pytest.mark.parametrize("value", ["0", "{}", "[]"])
def test_a_line_is_refused_cheaply(kind: object, value: str) -> None:
    lines = kind.documents  # type: ignore[attr-defined]
    names = ("pages", "messages", "aliases", "meta_info", "sha1", "title", "session_id", "path", "content")
    line = ("{%s}" % ",".join(f'"{name}":[{",".join([value] * (N // 8))}]' for name in names)).encode()

    def refuse_line() -> None:
        with pytest.raises(ValueError) as broken:  # noqa: PT011  # which one is not the point
            lines.request_of(line, "a")
        assert rules_broken(broken.value, below=lines.place)

    assert cost(refuse_line) <= DEAREST * cost(lambda: json.loads(line))


def test_what_breaks_too_many_rules_is_counted() -> None:
    with pytest.raises(ValidationError) as broken:
        validate_request(BODIES["unknown fields"].encode())
    assert broken.value.error_count() > MAX_ERRORS
    assert first_errors(broken.value, 3)[0]["msg"] == f"breaks {N} rules, too many to list"
    assert list(of_rules(broken.value).errors) == [("request", f"breaks {N} rules, too many to list")]
