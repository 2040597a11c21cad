"""What is taken from a provider's response and what is not: vectors, relevances, streams."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletionChunk

from querymill_workers.inference.client import NoResponse
from querymill_workers.inference.embeddings import vectors_of
from querymill_workers.inference.http_judge import Entry, read, relevance_by_index
from querymill_workers.inference.streams import MAX_REPLY_CHARS, ChatStream
from querymill_workers.jobs.faults import Refused


def embedded(*items: tuple[int, list[float]]) -> CreateEmbeddingResponse:
    data = [{"index": index, "embedding": vector, "object": "embedding"} for index, vector in items]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return CreateEmbeddingResponse.model_validate({"data": data, "model": "m", "object": "list", "usage": usage})


@given(st.permutations(range(5)))
def test_vectors_come_in_the_order_of_the_texts(order: list[int]) -> None:
    vectors = vectors_of(embedded(*((index, [index, 1.0]) for index in order)), 5, 2)
    np.testing.assert_array_equal(vectors[:, 0], range(5))
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("indexes", [[], [0], [0, 0], [1, 2], [0, 1, 2]])
def test_not_one_vector_for_each_text_may_pass(indexes: list[int]) -> None:
    with pytest.raises(NoResponse, match=rf"the provider returned {len(indexes)} vectors for 2 texts"):
        vectors_of(embedded(*((index, [1.0]) for index in indexes)), 2, 1)


def test_a_wrong_dimension_is_never_stored() -> None:
    with pytest.raises(Refused, match=r"embedding rejected: the provider returned 3 dimensions, expected 2"):
        vectors_of(embedded((0, [1.0, 2.0]), (1, [1.0, 2.0, 3.0])), 2, 2)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e39])
def test_a_number_that_is_not_finite_as_a_float32_is_never_stored(number: float) -> None:
    with pytest.raises(NoResponse, match="NaN or infinity"), np.errstate(over="ignore"):
        vectors_of(embedded((0, [1.0, number])), 1, 2)


def entries(*pairs: tuple[int, float]) -> list[Entry]:
    return [Entry.model_validate({"index": index, "score": score}) for index, score in pairs]


def test_a_passage_that_the_endpoint_left_out_is_missing() -> None:
    assert relevance_by_index(entries((2, 0.5), (0, 1.0)), count=3) == {2: 0.5, 0: 1.0}
    assert relevance_by_index([], count=3) == {}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(3, 0.5)], "invalid or repeated index 3 in the response (expected 0 to 2, once each)"),
        ([(-1, 0.5)], "invalid or repeated index -1"),
        ([(1, 0.5), (1, 0.5)], "invalid or repeated index 1"),
        ([(0, 1.5)], "relevance 1.5 in the response (expected 0 to 1)"),
        ([(0, -0.1)], "relevance -0.1"),
        ([(0, math.nan)], "relevance nan"),
    ],
)
def test_an_index_or_a_relevance_that_cannot_be_voids_the_whole_response(
    pairs: list[tuple[int, float]], said: str
) -> None:
    with pytest.raises(Refused) as caught:
        relevance_by_index(entries(*pairs), count=3)
    assert f"rerank endpoint: {said}" in str(caught.value)


def test_each_shape_is_read_as_it_is_written() -> None:
    cohere = read(b'{"results": [{"index": 1, "relevance_score": 0.5}], "usage": {"total_tokens": 9}}', shape="cohere")
    tei = read(b'[{"index": 1, "score": 0.5}]', shape="tei")
    assert cohere.results == tei.results == entries((1, 0.5))
    assert (cohere.tokens, tei.tokens) == (9, None)


@pytest.mark.parametrize("usage", ["null", "[]", '"9"', '{"total_tokens": "9"}', "{}"])
def test_a_usage_that_cannot_be_read_is_none(usage: str) -> None:
    assert read(f'{{"results": [], "usage": {usage}}}'.encode(), shape="cohere").tokens is None


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", b"[]", b'{"results": [{"index": "1", "score": 0.5}]}', b'{"results": [{"index": 1}]}', b"\xff"],
)
def test_what_does_not_have_the_shape_may_pass(content: bytes) -> None:
    with pytest.raises(NoResponse, match="the response does not have the cohere shape"):
        read(content, shape="cohere")


class Chunks:
    """The chunks of a stream; an exception in their place breaks it off."""

    def __init__(self, *chunks: ChatCompletionChunk | Exception) -> None:
        self._chunks = iter(chunks)
        self.closed = False

    def __iter__(self) -> Iterator[ChatCompletionChunk]:
        return self

    def __next__(self) -> ChatCompletionChunk:
        chunk = next(self._chunks)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def close(self) -> None:
        self.closed = True


def chunk(text: str | None = None, finish: str | None = None, tokens: int | None = None) -> ChatCompletionChunk:
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": tokens}
    fields: dict[str, Any] = {"id": "1", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    return ChatCompletionChunk.model_validate(
        fields | ({"choices": [], "usage": usage} if tokens else {"choices": choices})
    )


def stream(*chunks: ChatCompletionChunk | Exception) -> ChatStream:
    return ChatStream(Chunks(*chunks))  # type: ignore[arg-type]  # of the stream only these are used


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


def test_a_stream_that_ends_without_a_reason_broke_off() -> None:
    with pytest.raises(NoResponse, match="without a finish reason"):
        parts(stream(chunk("nine")))


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
    broken = ChatCompletionChunk.model_construct(choices=chunk("nine").choices, usage=None)
    broken.choices[0].delta.content = "a\ud800b"
    assert parts(stream(broken, chunk(None, "stop"))) == ["ab"]


def test_closing_a_reply_closes_its_connection() -> None:
    chunks = Chunks(chunk("nine"))
    ChatStream(chunks).close()  # type: ignore[arg-type]  # as above
    assert chunks.closed
