"""The settings, and whether every service that they name answers."""

import http.client
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pydantic
import redis

from querymill_shared.addresses import HIDDEN, Host, mask, read_address
from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings

_TIMEOUT_S = 3.0
_PORTS = {
    "": 5432,  # a keyword string
    "postgresql": 5432,
    "postgres": 5432,
    "mongodb": 27017,
    "redis": 6379,
    "rediss": 6379,
    "sentinel": 26379,
    "amqp": 5672,
    "pyamqp": 5672,
    "amqps": 5671,
}
_DATABASE_SCHEMES = ("", "postgresql", "postgres")
_DATABASE_RULE = "begin with postgresql://, or be keywords such as host=… dbname=…"
_MONGODB_SCHEMES = ("mongodb", "mongodb+srv")
_MONGODB_RULE = "begin with mongodb:// or mongodb+srv://"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis; ``ok`` is None for what is not probed, and ``mend`` says what to do, or why not."""

    name: str
    value: str
    ok: bool | None = None
    mend: str = ""


def diagnose() -> list[Finding]:
    """Look at the settings, then at each service; never shows a secret.

    Raises:
        pydantic.ValidationError: A setting breaks a rule; see `broken_settings`.
    """
    settings = Settings()
    found = [*_settings(settings), *_services(settings)]
    return [replace(finding, mend=settings.mask_secrets(finding.mend)) for finding in found]


def broken_settings(error: pydantic.ValidationError) -> list[Finding]:
    """Say which settings break which rule; their values, which may be secrets, are not shown."""
    return [
        Finding(".".join(map(str, part["loc"])).upper(), HIDDEN, ok=False, mend=part["msg"]) for part in error.errors()
    ]


def _settings(settings: Settings) -> Iterator[Finding]:
    for name in type(settings).model_fields:
        yield Finding(name.upper(), settings.shown(name))


def _services(settings: Settings) -> Iterator[Finding]:
    yield _board(settings)
    if settings.broker_url != settings.redis_url:
        yield _tcp("broker", settings.broker_url, "CELERY_BROKER_URL")
    database, modules = settings.database_url.get_secret_value(), settings.mongodb_uri.get_secret_value()
    yield _tcp("PostgreSQL", database, "DATABASE_URL", schemes=_DATABASE_SCHEMES, rule=_DATABASE_RULE)
    yield _tcp("MongoDB", modules, "MONGODB_URI", schemes=_MONGODB_SCHEMES, rule=_MONGODB_RULE)
    yield _models(
        "chat models", settings.openai_base_url, settings.openai_api_key.get_secret_value(), "OPENAI_BASE_URL"
    )
    yield _models("embedding models", *settings.embedding_endpoint, "EMBEDDING_BASE_URL")
    if settings.rerank_base_url:
        key = settings.rerank_api_key.get_secret_value()
        yield _models("rerank endpoint", settings.rerank_base_url, key, "RERANK_BASE_URL")


def _board(settings: Settings) -> Finding:
    shown = mask(settings.redis_url)
    board = ValkeyBoard.connect(settings)
    try:
        board.ping()
        policy = board.server_setting("maxmemory-policy")
    except redis.RedisError as error:
        return Finding("board", shown, ok=False, mend=f"REDIS_URL: {error}; `querymill up` starts one")
    finally:
        board.close()
    if policy not in (None, "noeviction"):
        mend = f"REDIS_URL: maxmemory-policy is {policy}: a full server drops jobs; set noeviction"
        return Finding("board", shown, ok=False, mend=mend)
    return Finding("board", shown, ok=True)


def _tcp(name: str, url: str, setting: str, *, schemes: Sequence[str] = (), rule: str = "be a URL") -> Finding:
    """Connect to one of the hosts that an address names; without ``schemes`` it may be a URL of any scheme."""
    read = read_address(url)
    if read is None or (read.scheme not in schemes if schemes else not read.scheme):
        mend = f"{setting}: must {rule}, with special characters of the password escaped"
        return Finding(name, mask(url), ok=False, mend=mend)
    if read.scheme == "mongodb+srv":
        return Finding(name, read.shown, mend=f"{setting}: not probed: its servers are looked up in DNS")
    default = _PORTS.get(read.scheme.partition("+")[0])
    hosts = [(host, port or default) for host, port in read.hosts]
    if not hosts or any(port is None and not host.startswith("/") for host, port in hosts):
        return Finding(name, read.shown, mend=f"{setting}: not probed: it names no host and port")
    failures = []
    for host in hosts:
        try:
            _connect(host, database=setting == "DATABASE_URL")
        except (OSError, ValueError) as error:
            failures.append(f"{host[0]}:{host[1]}: {error}")
        else:
            return Finding(name, read.shown, ok=True)
    mend = f"{setting}: {'; '.join(failures)}; is it running, is the address right?"
    return Finding(name, read.shown, ok=False, mend=mend)


def _connect(host: Host, *, database: bool) -> None:
    name, port = host
    if not name.startswith("/"):
        socket.create_connection((name, port or 0), _TIMEOUT_S).close()
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT_S)
        # libpq expects the folder of the socket.
        connection.connect(f"{name}/.s.PGSQL.{port}" if database else name)


def _models(name: str, base_url: str, key: str, setting: str) -> Finding:
    read = read_address(base_url)
    if read is None or read.scheme not in ("http", "https") or len(read.hosts) != 1:
        return Finding(name, mask(base_url), ok=False, mend=f"{setting}: must begin with http:// or https://")
    kind = http.client.HTTPSConnection if read.scheme == "https" else http.client.HTTPConnection
    ((host, port),) = read.hosts
    path = f"/{read.path}".rstrip("/")
    try:
        connection = kind(host, port, timeout=_TIMEOUT_S)
        connection.request("GET", f"{path}/models", headers={"Authorization": f"Bearer {key}"})
        status = connection.getresponse().status
        connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        return Finding(name, read.shown, ok=False, mend=f"{setting}: {error}; is it running, is the address right?")
    if status in (401, 403):
        return Finding(name, read.shown, ok=False, mend=f"{setting}: HTTP {status}; is the key right?")
    return Finding(name, read.shown, ok=True)
