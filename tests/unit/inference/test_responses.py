"""What is taken from a provider's response and what is not: vectors, relevances, streams."""

import base64
import binascii
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.inference.client import Limited, NoResponse, Rejected
from querymill_workers.inference.embeddings import vectors_of
from querymill_workers.inference.streams import MAX_REPLY_CHARS, ChatStream
from querymill_workers.jobs.faults import Refused


def embedded(*items: tuple[object, object]) -> Mapping[str, Any]:
    data = [{"index": index, "embedding": vector, "object": "embedding"} for index, vector in items]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"data": data, "model": "m", "object": "list", "usage": usage}


@given(st.permutations(range(5)))
def test_vectors_come_in_the_order_of_the_texts(order: list[int]) -> None:
    vectors = vectors_of(embedded(*((index, [index, 1.0]) for index in order)), 5, 2)
    np.testing.assert_array_equal(vectors[:, 0], range(5))
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("indexes", [[], [0], [0, 5], [1, 2], [0, 1, 2]])
def test_not_one_vector_for_each_text_may_pass(indexes: list[int]) -> None:
    with pytest.raises(NoResponse, match=rf"the provider returned {len(indexes)} vectors for 2 texts"):
        vectors_of(embedded(*((index, [1.0]) for index in indexes)), 2, 1)


@pytest.mark.parametrize(
    "indexes",
    [[None, None, None], [0, 0, 0], [1, 1, 1], ["0", "1", "2"], [0.0, 1.0, 2.0], [None, 1, 2], [0, None, None]],
)
def test_where_an_index_says_nothing_the_position_stands_for_it(indexes: list[object]) -> None:
    vectors = vectors_of(embedded(*((index, [place]) for place, index in enumerate(indexes))), 3, 1)
    assert vectors[:, 0].tolist() == [0.0, 1.0, 2.0]


def test_an_item_without_an_index_is_the_one_that_is_missing() -> None:
    reply = {"data": [{"index": 1, "embedding": [1.0]}, {"embedding": [0.0]}, {"index": 2, "embedding": [2.0]}]}
    assert vectors_of(reply, 3, 1)[:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("indexes", [[0, 0, 1], [None, None, 0], ["a", "b", 1], [3, 3, 3], [0, 1, 3], [-1, 0, 1]])
def test_indexes_that_contradict_each_other_say_nothing(indexes: list[object]) -> None:
    with pytest.raises(NoResponse, match="3 vectors for 3 texts, with indexes that contradict each other"):
        vectors_of(embedded(*((index, [1.0]) for index in indexes)), 3, 1)


def test_a_vector_as_base64_is_read() -> None:
    coded = base64.b64encode(struct.pack("<2f", 0.5, -2.0)).decode()
    assert vectors_of(embedded((1, coded), (0, [1.0, 2.0])), 2, 2).tolist() == [[1.0, 2.0], [0.5, -2.0]]
    with pytest.raises(Refused, match="2 dimensions, expected 3"):
        vectors_of(embedded((0, coded)), 1, 3)
    with pytest.raises(binascii.Error):
        vectors_of(embedded((0, "no base64!")), 1, 2)
    with pytest.raises(ValueError, match="buffer size"):
        vectors_of(embedded((0, base64.b64encode(b"12345").decode())), 1, 2)


@pytest.mark.parametrize(
    "reply",
    [
        {"embeddings": [[1.0, 2.0], [3.0, 4.0]]},
        {"embeddings": {"float": [[1.0, 2.0], [3.0, 4.0]]}},
        {"data": [[1.0, 2.0], [3.0, 4.0]]},
        {"data": [{"embedding": [[1.0, 2.0]]}, {"embedding": [[3.0, 4.0]]}]},
    ],
    ids=str,
)
def test_bare_vectors_are_read_in_the_order_of_the_texts(reply: dict[str, Any]) -> None:
    assert vectors_of(reply, 2, 2).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_wrong_dimension_is_never_stored() -> None:
    with pytest.raises(Refused, match=r"embedding rejected: the provider returned 3 dimensions, expected 2"):
        vectors_of(embedded((0, [1.0, 2.0]), (1, [1.0, 2.0, 3.0])), 2, 2)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e39, None, "NaN"])
def test_a_number_that_is_not_finite_as_a_float32_is_never_stored(number: object) -> None:
    with pytest.raises(NoResponse, match="NaN or infinity"), np.errstate(over="ignore"):
        vectors_of(embedded((0, [1.0, number])), 1, 2)


def chunk(text: str | None = None, finish: str | None = None, tokens: int | None = None) -> dict[str, Any]:
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": tokens}
    return {"choices": [], "usage": usage} if tokens else {"choices": choices}


def stream(*chunks: dict[str, Any] | Exception, asked: Sequence[str] = ()) -> ChatStream:
    """Stream these chunks; an exception in their place breaks the reply off."""

    def come() -> Iterator[dict[str, Any]]:
        for come in chunks:
            if isinstance(come, Exception):
                raise come
            yield come

    return ChatStream(come(), lambda: None, renew=lambda: None, asked=asked)


def parts(reply: ChatStream) -> list[str]:
    reply.await_first()
    heard = []
    while (part := reply.next()) is not None:
        heard.append(part)
    return heard


def test_a_reply_comes_part_by_part_with_its_tokens_at_the_end() -> None:
    reply = stream(chunk("nine"), chunk(""), chunk(" ships"), chunk(None, "stop"), chunk(tokens=12))
    assert parts(reply) == ["nine", " ships"]
    assert (reply.tokens, reply.is_whole) == (12, True)


def test_tokens_that_are_reported_before_the_end_are_kept() -> None:
    reply = stream(chunk(tokens=12), chunk("nine"), chunk(None, "stop"))
    assert (parts(reply), reply.tokens) == (["nine"], 12)


def test_blank_space_at_the_beginning_is_no_first_part() -> None:
    assert parts(stream(chunk(" \n"), chunk("nine"), chunk(None, "stop"))) == [" \nnine"]


def test_a_reply_that_was_stopped_at_the_token_limit_is_not_whole() -> None:
    reply = stream(chunk("nine"), chunk(None, "length"))
    assert (parts(reply), reply.is_whole) == (["nine"], False)


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_a_reply_of_nothing_is_refused(blank: str) -> None:
    with pytest.raises(Refused, match="empty reply"):
        stream(chunk(blank), chunk(None, "stop")).await_first()


@pytest.mark.parametrize("last", [[], [chunk(tokens=12)], [{"choices": [{"index": 0}]}], [{}]], ids=str)
def test_a_reply_with_words_is_whole_without_a_reason_for_its_end(last: list[dict[str, Any]]) -> None:
    reply = stream(chunk("nine"), *last)
    assert (parts(reply), reply.is_whole, reply.fault) == (["nine"], True, "")


@pytest.mark.parametrize("chunks", [[], [chunk("")], [chunk(" \n")], [{"choices": None}]], ids=str)
def test_a_stream_that_ends_without_a_word_broke_off(chunks: list[dict[str, Any]]) -> None:
    with pytest.raises(NoResponse, match="without a word"):
        parts(stream(*chunks))


def test_an_error_after_the_first_words_ends_the_reply_and_is_said_without_the_callers_text() -> None:
    error = {"error": {"message": 'lost "how many ships are there"', "code": 502}}
    reply = stream(chunk("nine"), error, chunk(" ships"), asked=["how many ships are there?"])
    assert (parts(reply), reply.is_whole) == (["nine"], False)
    assert reply.fault == 'HTTP 502: lost "…"'


@pytest.mark.parametrize(
    ("error", "kind"),
    [({"code": 429}, Limited), ({"code": "400"}, Rejected), ({"code": 503}, NoResponse), ("down", NoResponse)],
)
def test_an_error_before_the_first_words_is_the_answer(error: object, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        stream(chunk(" "), {"error": error}).await_first()


ODD_CHOICES: list[object] = [
    None, [], [None], ["x"], [{"delta": None}], [{}], [{"delta": {"content": None}}], [{"delta": {"content": 3}}],
    [{"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}}],
    [{"delta": None, "finish_reason": "stop"}], [{"delta": {}, "message": {"content": "nine ships"}}],
]  # fmt: skip


@pytest.mark.parametrize("choices", ODD_CHOICES, ids=str)
def test_a_chunk_without_a_word_costs_nothing(choices: object) -> None:
    odd: dict[str, Any] = {"choices": choices, "usage": None}
    reply = stream(chunk("nine"), odd, chunk(" ships"), odd)
    assert ("".join(parts(reply)), reply.is_whole) == ("nine ships", True)


def test_a_word_may_be_a_list_of_parts() -> None:
    content = [{"type": "text", "text": "nine"}, {"text": " big"}, " ships", {"type": "image", "text": "no"}]
    assert parts(stream({"choices": [{"delta": {"content": content}}]})) == ["nine big ships"]


def test_a_stream_that_breaks_is_no_bug() -> None:
    with pytest.raises(NoResponse, match="unreadable response"):
        parts(stream(chunk("nine"), ValueError("bad chunk")))


def test_a_reply_without_an_end_is_cut() -> None:
    long = "x" * (MAX_REPLY_CHARS // 2)
    reply = stream(chunk(long), chunk(long), chunk("y"), chunk(None, "stop"))
    reply.await_first()
    assert [reply.next(), reply.next()] == [long, long]
    with pytest.raises(NoResponse, match=f"longer than {MAX_REPLY_CHARS} characters"):
        reply.next()


def test_half_a_surrogate_pair_is_left_out() -> None:
    assert parts(stream(chunk("a\ud800b"), chunk(None, "stop"))) == ["ab"]


def test_closing_a_reply_closes_its_connection() -> None:
    closed: list[bool] = []
    ChatStream([], lambda: closed.append(True), renew=lambda: None).close()
    assert closed == [True]
