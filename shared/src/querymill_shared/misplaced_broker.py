"""Whether the broker is a cluster, on which bells cannot be rung."""

from contextlib import suppress

import redis

from querymill_shared.board.cluster import BELLS_ELSEWHERE
from querymill_shared.board.connections import open_commands
from querymill_shared.settings import Settings
from querymill_shared.urls import has_alternates, is_redis


def misplaced_broker(settings: Settings) -> str | None:
    """Return which setting leads to a cluster as the broker, and the remedy. None also if no server responds."""
    if not is_redis(settings.broker_url) or has_alternates(settings.broker_url):
        return None
    with suppress(redis.RedisError), open_commands(settings.broker_url, max_connections=1) as client:
        if client.its_cluster() is not None:
            name = "CELERY_BROKER_URL" if settings.celery_broker_url else "REDIS_URL, which is the broker too"
            return f"{name}: leads to a cluster; {BELLS_ELSEWHERE}"
    return None
