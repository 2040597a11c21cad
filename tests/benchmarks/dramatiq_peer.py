"""The other peer: the same branches as a dramatiq group, fused by its completion callback."""

import os
import time

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend as Barriers
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as ResultBackend

from querymill_workers.retrievers.reports.rules.fusion import HitKey, QueryHit, fuse
from tests.benchmarks.script import EMBEDDING_S, LLM_S, SEARCH_S, found

#: A database of its own on the server of the board.
URL = os.environ["REDIS_URL"].removesuffix("/0") + "/5"


def pool() -> redis.Redis:
    """Open a client whose callers wait for a free connection."""
    return redis.Redis.from_pool(redis.BlockingConnectionPool.from_url(URL, max_connections=300, timeout=30))


_results = ResultBackend(client=pool())
_broker = RedisBroker(client=pool())
# Before the results, the callback would start while the last result is being stored.
_broker.add_middleware(GroupCallbacks(Barriers(client=pool())))
_broker.add_middleware(Results(backend=_results))
dramatiq.set_broker(_broker)

Ranked = list[tuple[str, int, float]]


@dramatiq.actor(queue_name="branches", store_results=True, max_retries=3)  # type: ignore[untyped-decorator]  # the peer is not installed everywhere
def branch(name: str, question: str) -> Ranked:
    """Do what one of our branches does."""
    if name != "original":
        time.sleep(LLM_S)
    time.sleep(EMBEDDING_S)
    query = f"{name} of {question}"
    time.sleep(SEARCH_S)
    return [(hit.query, hit.page, hit.inner_product) for hit in found({query: None})]


@dramatiq.actor(queue_name="settle", store_results=True, max_retries=3)  # type: ignore[untyped-decorator]  # the peer is not installed everywhere
def settle(branches: list[str]) -> list[float]:
    """Fuse what the branches found."""
    hits = [
        QueryHit(query, HitKey("r", "page", page), page, score)
        for message_id in branches
        for query, page, score in _results.get_result(branch.message("", "").copy(message_id=message_id))
    ]
    return [hit.score for hit in fuse(hits, top_n=10)]


def run(question: str, branches: tuple[str, ...]) -> list[float]:
    """Hand one job over as a group, and wait for the result of its callback."""
    messages = [branch.message(name, question) for name in branches]
    last = settle.message([message.message_id for message in messages])
    group = dramatiq.group(messages)
    group.add_completion_callback(last)
    group.run()
    scores: list[float] = last.get_result(backend=_results, block=True, timeout=30_000)
    return scores
