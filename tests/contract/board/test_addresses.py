"""Every form of address opens what it says: TLS, a socket or a plain connection, to the board and to the broker."""

import asyncio
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import kombu.pools
import pytest
import redis

from querymill.keys import Keyring
from querymill_embedded import free_ports
from querymill_shared.board import AsyncValkeyBoard, ValkeyBoard, ValkeyWatchedBoard
from querymill_shared.broker import _REDIS_TRANSPORT
from querymill_shared.contracts.errors import Unavailable
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.doorbell import Doorbell
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from querymill_workers.inference.fleet_cache import open_cache
from tests.fakes.plain_listener import plain_listener
from tests.fixtures.certificates import Authority
from tests.fixtures.guarded_boards import PASSWORD, PROGRAM, GuardedBoard, guarded_board, need_program
from tests.fixtures.sentinels import NAME, Sentinels, sentinels
from tests.fixtures.tallies import until

pytestmark = pytest.mark.one_server

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


def values(url: str) -> object:
    """Read a value that the fleet has cached."""
    with open_cache(Settings(querymill_cache_url=url).querymill_cache_url) as cache:
        return cache.get("qm:vector:c:{0}")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kombu try a broker twice at once, instead of three times within six seconds."""
    at_once = {**_REDIS_TRANSPORT, "max_retries": 1, "interval_start": 0}
    monkeypatch.setattr("querymill_shared.broker._REDIS_TRANSPORT", at_once)


OPENED: tuple[Opened, ...] = (command, several_commands, coroutine, watching, keyring, broker, values)
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


@pytest.fixture(scope="module")
def led() -> Iterator[Sentinels]:
    with sentinels() as running:
        yield running


def calls_of(led: Sentinels, opens: Opened, url: str) -> int:
    """How often a caller was let in by the primary."""
    kombu.pools.reset()  # kombu keeps connections for later callers of the same address
    with led.client(led.primary) as client:
        client.config_resetstat()
        opens(url)
        stats = client.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("hello", "auth"))


@each_opens
def test_sentinels_lead_to_the_primary(led: Sentinels, opens: Opened) -> None:
    for url in (
        led.url(db=3), led.url(host="[::1]"), led.for_celery(db=2), led.url().replace("sentinel:", "redis+sentinel:"),
    ):  # fmt: skip
        assert calls_of(led, opens, url), url


def test_sentinels_lead_to_the_new_primary_after_it_has_changed(led: Sentinels) -> None:
    former = led.primary
    led.switch()
    assert led.primary != former
    assert [opens.__name__ for opens in OPENED if not calls_of(led, opens, led.url())] == []


@contextmanager
def sentinel_on_tls(board: GuardedBoard) -> Iterator[str]:
    """Run a Sentinel that speaks TLS, to the server too, and yield the address of the primary."""
    port, issued = free_ports(["sentinel"], preferred={})["sentinel"], board.folder / "server"
    lines = f"""
port 0
tls-port {port}
bind 127.0.0.1
tls-cert-file {issued}.crt
tls-key-file {issued}.key
tls-ca-cert-file {board.authority.certificate}
tls-auth-clients no
tls-replication yes
sentinel monitor {NAME} 127.0.0.1 {board.port} 1
sentinel auth-pass {NAME} {PASSWORD}
"""
    with tempfile.TemporaryDirectory(prefix="qm-sentinel-") as folder:
        (Path(folder) / "sentinel.conf").write_text(lines, encoding="utf-8")
        command = [str(PROGRAM), f"{folder}/sentinel.conf", "--sentinel"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                yield f"sentinels://:{PASSWORD}@127.0.0.1:{port}/{NAME}/5"
            finally:
                process.kill()


def test_sentinels_on_tls_prove_their_name_as_the_server_does(guarded: GuardedBoard, tmp_path: Path) -> None:
    with sentinel_on_tls(guarded) as url:
        trusting = f"{url}?ssl_ca_certs={guarded.authority.certificate}"
        until(lambda: is_reached(trusting), within_s=20)
        assert [opens.__name__ for opens in OPENED if not is_opened(guarded, opens, trusting, db=5)] == []
        for refused in (
            url,
            trusting.replace("127.0.0.1", "127.0.0.2"),
            f"{url}?ssl_ca_certs={Authority(tmp_path).certificate}",
        ):
            assert not is_reached(refused)
        with pytest.raises(redis.ConnectionError):
            command(trusting.replace("sentinels:", "sentinel:").partition("?")[0])


def is_reached(url: str) -> bool:
    try:
        coroutine(url)
        command(url)
    except redis.ConnectionError:
        return False
    return True


@each_opens
@pytest.mark.parametrize("wrong", ["another name", "another password", "no Sentinel"])
def test_who_is_led_to_no_primary_is_told_so(led: Sentinels, opens: Opened, wrong: str) -> None:
    url = {
        "another name": led.url(master_name="nobody"),
        "another password": led.url(sentinel_password="wrong"),
        "no Sentinel": f"sentinel://:{PASSWORD}@127.0.0.1:1,127.0.0.1:2/{NAME}/0",
    }[wrong]
    with suppress(Unavailable, redis.ConnectionError):
        assert calls_of(led, opens, url) == 0
        assert opens is broker


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
