"""The peer: the same branches as the header of a Celery chord, fused by its body."""

import json
import os
import time

import redis
from celery import Celery, chord

from querymill_workers.retrievers.reports.rules.fusion import HitKey, QueryHit, fuse
from tests.benchmarks.script import EMBEDDING_S, LLM_S, SEARCH_S, found

QUEUE = "chord"
#: A database of its own on the server of the board.
URL = os.environ["REDIS_URL"].removesuffix("/0") + "/3"
app = Celery("chord", broker=URL, backend=URL, set_as_current=False)
app.conf.update(
    task_default_queue=QUEUE,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_pool_limit=32,
    redis_max_connections=200,
)
_client = redis.Redis.from_url(URL)


@app.task(name="chord.branch")
def branch(name: str, question: str) -> list[tuple[str, int, float]]:
    """Do what one of our branches does."""
    if name != "original":
        time.sleep(LLM_S)
    time.sleep(EMBEDDING_S)
    query = f"{name} of {question}"
    time.sleep(SEARCH_S)
    return [(hit.query, hit.page, hit.inner_product) for hit in found({query: None})]


@app.task(name="chord.settle", ignore_result=True)
def settle(branches: list[list[tuple[str, int, float]]], job_id: str) -> None:
    """Fuse what the branches found; wake whoever waits."""
    hits = [QueryHit(query, HitKey("r", "page", page), page, score) for hits in branches for query, page, score in hits]
    ranking = fuse(hits, top_n=10)
    _client.rpush(f"chord:{job_id}", json.dumps([hit.score for hit in ranking]))


def submit(job_id: str, question: str, branches: tuple[str, ...]) -> None:
    """Hand one job over as a chord."""
    chord(branch.s(name, question) for name in branches)(settle.s(job_id))
