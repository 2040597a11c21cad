"""What providers reply, read as leniently as it is clear."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from querymill_workers.inference.chat import answer_in
from querymill_workers.inference.client import Limited, NoResponse, Rejected, make_call
from querymill_workers.inference.embeddings import vectors_of
from querymill_workers.inference.parameters import OutOfTokens
from querymill_workers.inference.replies import (
    error_instead,
    events_in,
    first_choice,
    places_of,
    read_object,
    text_in,
)
from querymill_workers.inference.streams import ChatStream
from querymill_workers.jobs.faults import Refused

FIRST, SECOND = {"choices": [{"delta": {"content": "one"}}]}, {"choices": [{"delta": {"content": "two\u2028\x85"}}]}


def line(event: object, start: str = "data: ") -> str:
    return start + json.dumps(event, ensure_ascii=False)


def read(text: str, size: int = 7) -> list[Mapping[str, Any]]:
    """Read a stream that arrives in parts of so many bytes."""
    content = text.encode()
    return list(events_in(content[at : at + size] for at in range(0, len(content), size)))


STREAMS = {
    "as most send it": f"{line(FIRST)}\n\n{line(SECOND)}\n\ndata: [DONE]\n\n",
    "lines end in CR LF": f"{line(FIRST)}\r\n\r\n{line(SECOND)}\r\n\r\ndata: [DONE]\r\n\r\n",
    "no blank after data:": f"{line(FIRST, 'data:')}\n\n{line(SECOND, 'data:')}\n\ndata:[DONE]\n\n",
    "comments, empty events, ids": f": ping\n\n{line(FIRST)}\n\ndata:\n\n:\n\nid: 7\nretry: 3\n{line(SECOND)}\n\n",
    "no blank line between events": f"{line(FIRST)}\n{line(SECOND)}\ndata: [DONE]\n",
    "no [DONE] and no end of line": f"{line(FIRST)}\n\n{line(SECOND)}",
    "after [DONE] comes no event": f"{line(FIRST)}\n\n{line(SECOND)}\n\ndata: [DONE]\n\n{line(FIRST)}\n\n",
    "one event over several lines": f"{line(FIRST)}\n\ndata: {{\ndata: {json.dumps(SECOND)[1:]}\n\n",
    "a byte order mark": f"\ufeff{line(FIRST)}\n\n{line(SECOND)}\n\n",
    "blank lines and comments in CR LF": f"\r\n: a\r\n\r\n{line(FIRST)}\r\n\r\n: b\r\n\r\n{line(SECOND)}\r\n",
    "an event of a comment's length": f": {'x' * 9_000}\n\n{line(FIRST)}\n\n{line(SECOND)}\n\n",
    "event names": f"event: message\n{line(FIRST)}\n\nevent: message\n{line(SECOND)}\n\n",
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_every_form_of_a_stream_is_read(stream: str, size: int) -> None:
    assert read(stream, size) == [FIRST, SECOND]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_reply_that_is_no_stream_is_its_only_event(indent: int | None) -> None:
    reply = {"choices": [{"message": {"content": "data: one"}}], "data": None}
    assert read(json.dumps(reply, indent=indent)) == [reply]


@pytest.mark.parametrize(
    "broken",
    [
        '{"error": "the model has crashed"}\n',
        '\n{"error": {"message": "the model has crashed"}}',
        'data: {"error": "the model has crashed"}\n\n',
        'event: error\ndata: {"message": "the model has crashed"}\n\n',
        'data: {"type": "error", "error": {"type": "api_error", "message": "the model has crashed"}}\n\n',
        'data: {"object": "error", "message": "the model has crashed", "code": 500}\n\n',
    ],
)
def test_an_error_within_a_stream_is_one_in_every_form(broken: str) -> None:
    *said, error = read(f"{line(FIRST)}\n\n{broken}")
    assert said == [FIRST]
    stream = ChatStream(iter([*said, error]), lambda: None, renew=lambda: None)
    stream.await_first()
    assert "".join(iter(stream.next, None)) == "one"
    assert not stream.is_whole
    assert "the model has crashed" in stream.fault


def test_an_event_that_is_named_an_error_is_one() -> None:
    assert read('event: error\ndata: {"message": "down"}\n\n') == [{"error": {"message": "down"}}]


@pytest.mark.parametrize("stream", ["data: {{{\n\n", 'data: {"choices": [\n\n', "data: oh\n\n"])
def test_an_event_that_is_not_json_breaks_a_stream_off(stream: str) -> None:
    with pytest.raises(ValueError, match="Expecting"):
        read(f"{line(FIRST)}\n\n{stream}")


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b" <!doctype html><p>Welcome", NoResponse, "an HTML page instead of JSON"),
        (b"[1]", NoResponse, "a JSON list instead of an object"),
        (b'{"error": {"message": "Provider returned error", "code": 502}}', NoResponse, "HTTP 502"),
        (b'{"error": {"message": "slow down", "code": "429"}}', Limited, "HTTP 429"),
        (b'{"error": {"message": "no", "status": 400}}', Rejected, "HTTP 400"),
        (b'{"error": "model is loading"}', NoResponse, "an error instead of a reply"),
        (b'{"object": "error", "message": "no", "code": 400}', Rejected, "HTTP 400"),
        (b'{"error": {"message": "pay", "code": "insufficient_quota"}}', Rejected, "no quota left"),
        (b'{"error": "Insufficient balance"}', Rejected, "no quota left"),
        (b'{"error": {"message": "slow down", "type": "rate_limit_exceeded"}}', Limited, "HTTP 429"),
        (b'{"error": {"message": "no", "code": "model_not_found"}}', Rejected, "an error instead of a reply"),
        (b'{"type": "error", "error": {"type": "overloaded_error"}}', NoResponse, "an error instead of a reply"),
        (b'[{"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}]', Rejected, "HTTP 404"),
        (b'{"choices": [{"error": {"code": 502, "message": "away"}}]}', NoResponse, "HTTP 502"),
        (b'{"code": 20012, "message": "no such model", "data": null}', NoResponse, "an error instead of a reply"),
        (b'{"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}', Rejected, "no quota left"),
        (b'{"error_code": 18, "error_msg": "request limit reached"}', NoResponse, "an error instead of a reply"),
        (b'{"detail": "Not Found"}', NoResponse, "an error instead of a reply"),
        (b'{"errors": ["model is loading"], "choices": []}', NoResponse, "an error instead of a reply"),
    ],
)
def test_what_came_instead_of_a_reply_is_said(content: bytes, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        read_object(content)


@pytest.mark.parametrize("before", [b"", b"\n\n\n", b" \r\n", b"\xef\xbb\xbf"])
def test_what_comes_before_a_reply_to_keep_the_connection_open_costs_nothing(before: bytes) -> None:
    assert read_object(before + b'{"choices": [], "usage": {}}') == {"choices": [], "usage": {}}


def test_the_words_of_an_error_that_came_instead_of_a_reply_are_kept() -> None:
    for error, words in (
        ("model is loading", "model is loading"),
        ({"message": "no memory", "code": 500}, "no memory"),
    ):
        with pytest.raises(NoResponse) as caught:
            read_object(json.dumps({"error": error}).encode())
        assert caught.value.words == words


def test_json_that_is_nested_without_end_is_no_json() -> None:
    nested = b"[" * 100_000
    for read_it in (read_object, lambda content: list(events_in([b"data: ", content, b"\n\n"]))):
        with pytest.raises(ValueError, match="nested too deep"):
            read_it(nested)
    assert error_instead(nested) is None


@pytest.mark.parametrize("error", ["null", "{}", '""', "false", "[]"])
def test_an_empty_error_is_none(error: str) -> None:
    assert read_object(f'{{"error": {error}, "data": []}}'.encode())["data"] == []


KEYS = st.sampled_from(["text", "type", "content"])


@given(st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_whatever_a_content_is_its_text_can_be_stored(content: object) -> None:
    text_in(content).encode("utf-8")


@given(st.lists(st.none() | st.integers() | st.text() | st.floats() | st.booleans(), max_size=6))
def test_places_are_a_permutation_or_nothing(indexes: list[object]) -> None:
    places = places_of(indexes, len(indexes))
    assert places is None or sorted(places) == list(range(len(indexes)))


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
NAMES = (
    "choices",
    "message",
    "delta",
    "content",
    "finish_reason",
    "error",
    "code",
    "data",
    "embedding",
    "index",
    "usage",
)
SHAPED = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner))
FORESEEN = (Limited, NoResponse, Rejected, Refused)


@given(SHAPED)
def test_no_reply_of_any_shape_raises_what_nobody_expects(reply: object) -> None:
    content = json.dumps(reply).encode()
    for read_it in (
        lambda: answer_in(first_choice(read_object(content))),
        lambda: vectors_of(read_object(content), 1, 2),
        lambda: parts_of([read_object(content)]),
    ):
        with suppress(*FORESEEN):
            make_call(read_it)


def parts_of(events: list[Mapping[str, Any]]) -> str:
    """Read a stream of these events."""
    stream = ChatStream(iter(events), lambda: None, renew=lambda: None)
    stream.await_first()
    return "".join(iter(stream.next, None))


@given(st.sampled_from(["usage", "object", "model", "id", "created", "system_fingerprint", "service_tier"]), ODD)
def test_an_odd_field_that_says_nothing_costs_no_reply(name: str, odd: object) -> None:
    message = {"choices": [{"message": {"content": "nine ships"}, "finish_reason": "stop"}], name: odd}
    assume(not (name == "object" and odd == "error"))
    assert answer_in(first_choice(read_object(json.dumps(message).encode()))) == "nine ships"
    vectors = {"data": [{"index": 0, "embedding": [0.5, 1.0]}], name: odd}
    assert vectors_of(read_object(json.dumps(vectors).encode()), 1, 2).tolist() == [[0.5, 1.0]]
    assert parts_of([{"choices": [{"delta": {"content": "nine "}}], name: odd}, message, {name: odd}]) == "nine "


@given(st.sampled_from(["role", "refusal", "tool_calls", "annotations", "audio"]), ODD)
def test_an_odd_field_of_a_message_costs_no_answer(name: str, odd: object) -> None:
    choice = {"message": {"content": "nine ships", name: odd}, "index": odd, "logprobs": odd, "finish_reason": odd}
    assert answer_in(choice) == "nine ships"


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"message": {"content": None}, "finish_reason": "content_filter"}, "withheld it (content_filter)"),
        ({"message": {"content": "", "refusal": "I cannot"}}, "empty reply: the model refused"),
        ({"message": {"content": "", "reasoning_content": "hm"}}, "the reply holds reasoning only"),
        ({"message": {"content": "<think>hm"}}, "the reply holds reasoning only"),
        ({"message": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}},
         "the reply holds reasoning only"),
        ({"message": {"content": None, "tool_calls": []}, "finish_reason": "tool_calls"}, "empty reply (tool_calls)"),
        ({}, "empty reply"),
        ({"message": {"content": [], "tool_calls": [{"id": "x"}]}}, "empty reply"),
        ({"message": {"content": "", "refusal": "I cannot"}, "finish_reason": "stop"}, "the model refused"),
    ],
    ids=str,
)  # fmt: skip
def test_why_a_reply_is_empty_is_said(choice: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as caught:
        answer_in(choice)
    assert said in str(caught.value)


@pytest.mark.parametrize("message", [{"content": ""}, {"content": None, "reasoning": "hm"}, {"content": "<think>hm"}])
@pytest.mark.parametrize("finish", ["length", "model_length", "max_tokens"])
def test_a_reply_that_used_up_its_tokens_before_a_word_may_get_more(message: dict[str, Any], finish: str) -> None:
    with pytest.raises(OutOfTokens):
        answer_in({"message": message, "finish_reason": finish})
    with pytest.raises(OutOfTokens):
        parts_of([{"choices": [{"delta": message}]}, {"choices": [{"delta": None, "finish_reason": finish}]}])
