"""The board's clock as its readers see it. The scripts read it by `read_clock` of prelude.lua, which explains it."""

import time
from typing import Any, Final

import redis
import redis.asyncio

from querymill_shared.board import keys

#: The field of the clock that says when it was last noted.
NOTED: Final = "at"
#: Clocks of the machines of one fleet that differ by more, in seconds, are reported.
MAX_APART_S: Final = 2.0


def board_s(server: tuple[int, int] | redis.RedisError, noted: object) -> float:
    """Return the board's time, in seconds since the epoch, by a server's TIME and what the clock noted.

    Raises:
        redis.RedisError: The server refused TIME, as it does to a user without that right.
    """
    if isinstance(server, redis.RedisError):
        raise server
    seconds, micros = server
    server_us = seconds * 1_000_000 + micros
    text = noted.decode(errors="replace") if isinstance(noted, bytes) else noted
    match text.split(" ") if isinstance(text, str) else ():
        case [board, at] if board.isdecimal() and at.isdecimal():
            return max(server_us, int(board) + max(0, server_us - int(at)) * 99 // 100) / 1_000_000
        case _:
            return server_us / 1_000_000


def read_clock(client: redis.Redis) -> float:
    """Return the board's time, in seconds since the epoch."""
    pipeline: Any = client.pipeline(transaction=False)
    ask(pipeline)
    return board_s(*pipeline.execute(raise_on_error=False))


def server_ahead_s(client: redis.Redis) -> float:
    """Return by how many seconds the clock of the board's server is ahead of this process's."""
    client.ping()  # connects, which may take its time
    before = time.time()
    seconds, micros = client.time()
    return float(seconds + micros / 1_000_000) - (before + time.time()) / 2


async def read_clock_later(client: redis.asyncio.Redis) -> float:
    """Return the board's time, as `read_clock` does."""
    pipeline: Any = client.pipeline(transaction=False)
    ask(pipeline)
    return board_s(*await pipeline.execute(raise_on_error=False))


def ask(pipeline: Any) -> None:
    """Ask within a pipeline for what `board_s` takes: two replies."""
    pipeline.time()
    pipeline.hget(keys.CLOCK, NOTED)
