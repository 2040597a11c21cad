"""Bytes of a stream become events, however they are cut into pieces."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from querymill.client.http.streams import ServerEvent, read_events

STREAM = (
    "retry: 1000\n: ok\n\n"
    'id: 1-0\nevent: hits\ndata: {"text":"a line\u2028and another\u0085, 港口"}\n\n'
    ": ok\n\n"
    "id: 2-0\r\nevent:done\r\ndata: one\r\ndata: two\r\n\r\n"
    "id: 3-0\nevent: cut\ndata: never whole"
).encode()
TOLD = [
    ServerEvent("1-0", "hits", '{"text":"a line\u2028and another\u0085, 港口"}'),
    ServerEvent("2-0", "done", "one\ntwo"),
]


async def pieces(of: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    for start, end in pairwise([0, *sorted(cuts), len(of)]):
        yield of[start:end]


async def read(of: bytes, cuts: list[int]) -> list[ServerEvent]:
    return [event async for event in read_events(pieces(of, cuts))]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_only_a_line_feed_ends_a_line_and_no_cut_changes_what_is_told(cuts: list[int]) -> None:
    assert asyncio.run(read(STREAM, cuts)) == TOLD
