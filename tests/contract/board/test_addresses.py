"""Every form of address opens what it says: TLS, a socket or a plain connection, to the board and to the broker."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import redis

from querymill.keys import Keyring
from querymill_shared.backlog import Backlog
from querymill_shared.board import AsyncValkeyBoard, ValkeyBoard, ValkeyWatchedBoard
from querymill_shared.board.connections import open_commands
from querymill_shared.broker import _REDIS_TRANSPORT
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.doorbell import Doorbell
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fakes.plain_listener import plain_listener
from tests.fixtures.certificates import Authority
from tests.fixtures.guarded_boards import PASSWORD, GuardedBoard, guarded_board, need_program

SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=5)
JOB = "0" * 32

Opened = Callable[[str], object]


def command(url: str) -> object:
    with closing(ValkeyBoard.connect(Settings(redis_url=url))) as board:
        return board.recent(limit=1)


def several_commands(url: str) -> object:
    with closing(ValkeyBoard.connect(Settings(redis_url=url))) as board:
        return board.recent()


def coroutine(url: str) -> object:
    async def ask() -> object:
        with_loop = AsyncValkeyBoard.connect(Settings(redis_url=url))
        try:
            return await with_loop.recent()
        finally:
            await with_loop.close()

    return asyncio.run(ask())


def watching(url: str) -> object:
    with closing(ValkeyWatchedBoard.connect(Settings(redis_url=url))) as board:
        return board.listen("watcher")


def keyring(url: str) -> object:
    with closing(Keyring.connect(Settings(redis_url=url))) as keys:
        return keys.is_empty()


def broker(url: str) -> object:
    """Ring on the broker. A bell that cannot be rung is not an error: see `Doorbell.ring`."""
    with closing(Doorbell.connect(Settings(redis_url="redis://127.0.0.1:1/0", celery_broker_url=url))) as doorbell:
        doorbell.ring(JOB, SEARCH)
        return None


def backlog(url: str) -> object:
    settings = Settings(redis_url="redis://127.0.0.1:1/0", celery_broker_url=url)
    with open_commands(url) as board:
        looked = Backlog.connect(settings, board)
        assert looked is not None, "the queues of this broker are lists, and can be looked at"
        return looked.look()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kombu try a broker twice at once, instead of three times within six seconds."""
    at_once = {**_REDIS_TRANSPORT, "max_retries": 1, "interval_start": 0}
    monkeypatch.setattr("querymill_shared.broker._REDIS_TRANSPORT", at_once)


OPENED: tuple[Opened, ...] = (command, several_commands, coroutine, watching, keyring, broker, backlog)
each_opens = pytest.mark.parametrize("opens", OPENED, ids=lambda opens: opens.__name__)


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedBoard]:
    need_program()
    with guarded_board() as board:
        yield board


@pytest.fixture(scope="module")
def demanding() -> Iterator[GuardedBoard]:
    """One that also wants a certificate of its clients."""
    need_program()
    with guarded_board(needs_certificate=True) as board:
        yield board


def is_opened(board: GuardedBoard, opens: Opened, url: str, *, db: int = 0) -> bool:
    """Whether a caller got in: its bell is in the database, or it gave its password and was answered."""
    if opens is broker:  # kombu keeps connections for later callers of the same address
        rung(board, db=db)
        opens(url)
        return rung(board, db=db) == 1
    with board.looked_at() as client:
        client.config_resetstat()
        opens(url)
        stats = client.info("commandstats")
        return "cmdstat_hello" in stats or "cmdstat_auth" in stats


def rung(board: GuardedBoard, db: int = 0) -> int:
    with board.looked_at(db=db) as client:
        count = int(client.llen(Queue.SEARCH.value))
        client.delete(Queue.SEARCH.value)
    return count


@each_opens
@pytest.mark.parametrize(
    "parameters",
    [{}, {"host": "localhost", "db": 3}, {"ssl_cert_reqs": "none", "ssl_ca_certs": None},
     {"host": "127.0.0.2", "ssl_check_hostname": "no", "ssl_cert_reqs": "required"},
     {"socket_timeout": "7", "protocol": "2", "ssl_min_version": "771", "health_check_interval": "3"}],
    ids=lambda given: "&".join(f"{name}={value}" for name, value in given.items()) or "plain",
)  # fmt: skip
def test_an_address_on_tls_is_opened_on_tls(
    guarded: GuardedBoard, opens: Opened, parameters: dict[str, object]
) -> None:
    url = guarded.tls(**parameters)  # type: ignore[arg-type]
    assert is_opened(guarded, opens, url, db=int(str(parameters.get("db", 0))))


@each_opens
def test_a_client_shows_its_certificate(demanding: GuardedBoard, opens: Opened) -> None:
    assert is_opened(demanding, opens, demanding.with_certificate(db=2), db=2)


@each_opens
def test_a_server_that_wants_a_certificate_lets_nobody_in_without(demanding: GuardedBoard, opens: Opened) -> None:
    with suppress(redis.ConnectionError):
        opens(demanding.tls())
        assert opens is broker
    assert rung(demanding) == 0


@each_opens
def test_a_socket_is_opened_in_its_database(guarded: GuardedBoard, opens: Opened) -> None:
    assert is_opened(guarded, opens, guarded.on_socket(db=4), db=4)


def test_celerys_own_names_are_known(guarded: GuardedBoard) -> None:
    socket_of_celery = f"redis+socket://:{PASSWORD}@{guarded.socket}?virtual_host=4"
    assert is_opened(guarded, broker, socket_of_celery, db=4)
    assert Settings(celery_broker_url=socket_of_celery).broker_url == guarded.on_socket(db=4)
    assert is_opened(guarded, broker, guarded.tls(ssl_cert_reqs="CERT_REQUIRED"))
    assert is_opened(guarded, broker, guarded.tls(ssl_cert_reqs="CERT_NONE", ssl_ca_certs=None))


@each_opens
def test_a_password_may_be_a_parameter_of_a_socket(guarded: GuardedBoard, opens: Opened) -> None:
    assert is_opened(guarded, opens, f"unix://{guarded.socket}?db=1&password={PASSWORD}", db=1)


@each_opens
def test_an_address_of_version_6_is_opened(guarded: GuardedBoard, opens: Opened) -> None:
    try:
        socket.create_connection(("::1", guarded.port), 5).close()
    except OSError:
        pytest.skip("this machine has no loopback of version 6")
    assert is_opened(guarded, opens, guarded.tls(host="[::1]"))


@each_opens
@pytest.mark.parametrize("query", ["", "?ssl_check_hostname=false", "?ssl_cert_reqs=none", "?ssl_ca_certs={ca}"])
def test_a_listener_without_tls_hears_no_password(tmp_path: Path, opens: Opened, query: str) -> None:
    with plain_listener() as listener:
        url = f"rediss://worker:{PASSWORD}@127.0.0.1:{listener.port}/0" + query.format(
            ca=Authority(tmp_path).certificate
        )
        with suppress(redis.ConnectionError, redis.TimeoutError):
            opens(url)
        heard = b"".join(listener.heard)
    assert heard, "it was called"
    assert PASSWORD.encode() not in heard
    assert b"AUTH" not in heard.upper()


@each_opens
@pytest.mark.parametrize("trusts", ["nobody's authority", "another authority", "another name"])
def test_a_server_that_proves_no_name_hears_no_password(
    guarded: GuardedBoard, tmp_path: Path, opens: Opened, trusts: str
) -> None:
    """kombu's own default would take any certificate for an address without parameters."""
    url = {
        "nobody's authority": guarded.tls(ssl_ca_certs=None),
        "another authority": guarded.tls(ssl_ca_certs=Authority(tmp_path).certificate),
        "another name": guarded.tls(host="127.0.0.2"),
    }[trusts]
    rung(guarded)
    with guarded.looked_at() as client:
        client.config_resetstat()
        with suppress(redis.ConnectionError):
            opens(url)
            assert opens is broker
        assert "cmdstat_hello" not in client.info("commandstats")
    assert rung(guarded) == 0


def test_what_follows_a_semicolon_hears_no_password_either() -> None:
    """Celery takes the next address when the first does not answer."""
    with plain_listener() as listener:
        broker(f"rediss://127.0.0.1:1/0;rediss://worker:{PASSWORD}@127.0.0.1:{listener.port}/0")
        assert PASSWORD.encode() not in b"".join(listener.heard)


@pytest.mark.parametrize("opens", [command, coroutine, broker], ids=lambda opens: opens.__name__)
def test_a_plain_address_stays_plain(valkey_url: str, opens: Opened) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        client.delete(Queue.SEARCH.value)
        opens(valkey_url)
        if opens is broker:
            assert client.llen(Queue.SEARCH.value) == 1
        client.delete(Queue.SEARCH.value)


@pytest.mark.parametrize(
    "url", ["rediss://h/0?ssl_cert_reqs=nothing", "redis://h/0?ssl_ca_certs=/ca.crt", "unix:///s?socket_keepalive=1"]
)
def test_an_address_with_a_parameter_that_it_cannot_take_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="must have only parameters"):
        Settings(redis_url=url)
    with pytest.raises(ValueError, match="must have only parameters"):
        Settings(celery_broker_url=url)
