"""Which addresses of the board and the broker are accepted, and how those of a broker on Redis are written."""

import re
from importlib.util import find_spec
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from querymill_shared.rabbit_addresses import is_rabbit, split_tls
from querymill_shared.sentinel_addresses import is_sentinel, read_sentinel
from querymill_shared.urls import has_alternates, is_redis


def read_by_redis(url: str) -> str:
    """Return an address that Redis's client can open. Raises PydanticCustomError.

    Where that client is not installed, nothing opens an address, and any is accepted.
    """
    if find_spec("redis") is None:
        return url
    from redis import BlockingConnectionPool, RedisError

    try:
        pool = BlockingConnectionPool.from_url(read_sentinel(url).server if is_sentinel(url) else url)
    except ValueError:
        raise PydanticCustomError(
            "redis_url",
            "must be a URL that begins with redis://, rediss:// or unix://, or names Sentinels"
            " (sentinel://HOST:26379,HOST:26379/NAME/0), with special characters of the password percent-encoded",
        ) from None
    try:
        pool.make_connection()  # type: ignore[no-untyped-call]  # connects to nothing
    except (TypeError, RedisError):
        raise PydanticCustomError(
            "redis_url", "must have only parameters that an address of its kind takes, with values that they take"
        ) from None
    return url


def read_by_celery(urls: str) -> str:
    """Return the addresses of a broker that Celery can open, joined by semicolons. Raises PydanticCustomError."""
    try:
        for url in [] if is_sentinel(urls) else urls.split(";"):
            _ = urlsplit(url).port
    except ValueError:
        # Celery's own error would quote a password with an unescaped slash as a port.
        raise PydanticCustomError(
            "broker_url", "must be a URL, with special characters of the password percent-encoded"
        ) from None
    if is_rabbit(urls):
        try:
            split_tls(urls)
        except ValueError as error:
            raise PydanticCustomError("broker_url", str(error)) from None
    for url in as_redis_says(urls).split(";") if has_alternates(urls) else [as_redis_says(urls)]:
        if is_redis(url):
            read_by_redis(url)
    return urls


def as_redis_says(urls: str) -> str:
    """Return URLs of the broker with the names of Redis's client in place of those that Celery has of its own."""
    scheme, _, place = urls.partition("://")
    if scheme == "redis+socket":
        urls = "unix://" + re.sub("(?<=[?&])virtual_host=", "db=", place)
    return re.sub("(?<=ssl_cert_reqs=)CERT_(NONE|OPTIONAL|REQUIRED)", lambda found: found[1].lower(), urls)
