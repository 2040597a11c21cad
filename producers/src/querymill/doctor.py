"""Say what the settings are and whether every service they name answers."""

import http.client
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import redis
from pydantic import SecretStr

from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings

_TIMEOUT_S = 3.0
_PORTS = {
    "postgresql": 5432,
    "postgres": 5432,
    "mongodb": 27017,
    "redis": 6379,
    "amqp": 5672,
    "http": 80,
    "https": 443,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis; ``ok`` is None for a plain setting, and ``mend`` says what to do."""

    name: str
    value: str
    ok: bool | None = None
    mend: str = ""


def diagnose() -> list[Finding]:
    """Look at the settings, then at each service; never shows a secret."""
    settings = Settings()
    return [*_settings(settings), *_services(settings)]


def masked(url: str) -> str:
    """Hide the password of a URL."""
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":***@") if parts.password else url


def _settings(settings: Settings) -> Iterator[Finding]:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            secret = value.get_secret_value()
            value = masked(secret) if "://" in secret else ("***" if secret else "")
        yield Finding(name.upper(), masked(str(value)))


def _services(settings: Settings) -> Iterator[Finding]:
    yield _board(settings)
    if settings.broker_url != settings.redis_url:
        yield _tcp("broker", settings.broker_url, "CELERY_BROKER_URL")
    yield _tcp("PostgreSQL", settings.database_url.get_secret_value(), "DATABASE_URL")
    yield _tcp("MongoDB", settings.mongodb_uri.get_secret_value(), "MONGODB_URI")
    yield _models(
        "chat models", settings.openai_base_url, settings.openai_api_key.get_secret_value(), "OPENAI_BASE_URL"
    )
    yield _models("embedding models", *settings.embedding_endpoint, "EMBEDDING_BASE_URL")
    if settings.rerank_base_url:
        key = settings.rerank_api_key.get_secret_value()
        yield _models("rerank endpoint", settings.rerank_base_url, key, "RERANK_BASE_URL")


def _board(settings: Settings) -> Finding:
    board = ValkeyBoard.connect(settings)
    try:
        board.ping()
        policy = board.server_setting("maxmemory-policy")
    except redis.RedisError as error:
        return Finding(
            "board",
            masked(settings.redis_url),
            ok=False,
            mend=f"REDIS_URL: {error}; `querymill up` starts one",
        )
    finally:
        board.close()
    if policy not in (None, "noeviction"):
        mend = f"REDIS_URL: maxmemory-policy is {policy}: a full server drops jobs; set noeviction"
        return Finding("board", masked(settings.redis_url), ok=False, mend=mend)
    return Finding("board", masked(settings.redis_url), ok=True)


def _tcp(name: str, url: str, setting: str) -> Finding:
    parts = urlsplit(url)
    try:
        with socket.create_connection(
            (parts.hostname or "127.0.0.1", parts.port or _PORTS.get(parts.scheme, 0)), _TIMEOUT_S
        ):
            return Finding(name, masked(url), ok=True)
    except (OSError, ValueError) as error:
        return Finding(name, masked(url), ok=False, mend=f"{setting}: {error}; is it running, is the address right?")


def _models(name: str, base_url: str, key: str, setting: str) -> Finding:
    parts = urlsplit(base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
        connection.request("GET", f"{parts.path.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"})
        status = connection.getresponse().status
        connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        return Finding(name, base_url, ok=False, mend=f"{setting}: {error}; is it running, is the address right?")
    if status in (401, 403):
        return Finding(name, base_url, ok=False, mend=f"{setting}: HTTP {status}; is the key right?")
    return Finding(name, base_url, ok=True)
