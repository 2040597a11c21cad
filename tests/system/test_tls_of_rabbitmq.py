"""A fleet whose bells go over RabbitMQ on TLS: the server must prove its name, and clients show a certificate."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import kombu
import kombu.pools
import pytest

from querymill import Querymill
from querymill_shared.broker import _CONFIRMED, QUEUE_ARGUMENTS
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.doorbell import Doorbell
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.plain_listener import plain_listener
from tests.fakes.rabbit import Tls, rabbit
from tests.fakes.worker import WorkerProcess
from tests.fixtures.certificates import Authority
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment

SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=5)


@pytest.fixture(scope="module")
def tls() -> Iterator[Tls]:
    with tempfile.TemporaryDirectory(prefix="qm-amqps-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        authority = Authority(folder)
        yield Tls(
            authority, authority.issue("server", hosts=("127.0.0.1", "::1", "localhost")), authority.issue("client")
        )


@pytest.fixture(scope="module")
def address(tls: Tls) -> Iterator[str]:
    with rabbit(tls=tls) as server:
        with kombu.Connection(server.url()) as connection:
            for queue in Queue:  # as a worker does
                declared = kombu.Queue(queue, queue_arguments=dict(QUEUE_ARGUMENTS), channel=connection.default_channel)
                declared.queue_declare()
        yield server.tls_url


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kombu try a broker twice at once, instead of three times within six seconds."""
    at_once = {**_CONFIRMED, "max_retries": 1, "interval_start": 0}
    monkeypatch.setattr("querymill_shared.broker._CONFIRMED", at_once)


def shown(tls: Tls) -> str:
    """The parameters of a client that trusts the authority and shows its certificate."""
    return (
        f"ssl_ca_certs={tls.authority.certificate}&ssl_certfile={tls.client.certificate}&ssl_keyfile={tls.client.key}"
    )


def hears(url: str, caplog: pytest.LogCaptureFixture) -> bool:
    """Whether a broker takes a bell. One that does not costs no job: the sweeper rings later."""
    caplog.clear()
    kombu.pools.reset()  # it keeps connections for later callers of the same address
    with closing(Doorbell.connect(Settings(celery_broker_url=url))) as doorbell:
        doorbell.ring("0" * 32, SEARCH)
    return "is not rung yet" not in caplog.text


@pytest.mark.nightly  # by day: bells of a client over TLS, below
def test_a_fleet_rings_over_tls(deployment: Deployment, openai_server: OpenAIServer, address: str, tls: Tls) -> None:
    environment = deployment.environment | {"CELERY_BROKER_URL": f"{address}?{shown(tls)}"}
    environment["QUERYMILL_RING_GRACE_S"] = "30"  # a bell that is not heard is missed
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    asked = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "nine ships over amqps"}]})
    with WorkerProcess(environment, threads=4), Querymill(settings=settings) as mill:
        assert mill.submit(asked).result(timeout=20).state == "done"
    told = CommandLine(environment | NO_MODELS)("doctor").stdout
    assert "guest:guest" not in told


@pytest.mark.parametrize(
    ("host", "query", "is_heard"),
    [
        ("127.0.0.1", "{shown}", True),
        ("localhost", "{shown}", True),
        ("[::1]", "{shown}", True),
        ("127.0.0.1", "ssl_cert_reqs=none&{client}", True),
        ("127.0.0.2", "{shown}", False),  # the certificate is of another name
        ("127.0.0.1", "{client}", False),  # no authority of the machine has signed it
        ("127.0.0.1", "ssl_ca_certs={other}&{client}", False),
        ("127.0.0.1", "ssl_ca_certs={ca}", False),  # the server wants a certificate
    ],
)
def test_who_proves_its_name_is_rung_and_nobody_else(
    address: str, tls: Tls, tmp_path: Path, caplog: pytest.LogCaptureFixture, host: str, query: str, is_heard: bool
) -> None:
    places = {"shown": shown(tls), "client": shown(tls).partition("&")[2], "ca": tls.authority.certificate}
    url = address.replace("127.0.0.1", host) + "?" + query.format(other=Authority(tmp_path).certificate, **places)
    assert hears(url, caplog) is is_heard


def test_each_of_several_brokers_is_known_by_its_own_name(
    address: str, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    away = address.replace("127.0.0.1", "127.0.0.1.nip.invalid")
    assert hears(f"{away}?{shown(tls)};{address}?{shown(tls)}", caplog)


@pytest.mark.parametrize("query", ["", "?ssl_cert_reqs=none"])
def test_a_listener_without_tls_hears_no_password(caplog: pytest.LogCaptureFixture, query: str) -> None:
    with plain_listener() as listener:
        assert not hears(f"amqps://bell:S3cretPassw0rd@127.0.0.1:{listener.port}//{query}", caplog)
        heard = b"".join(listener.heard)
    assert heard
    assert b"S3cretPassw0rd" not in heard
    assert not heard.startswith(b"AMQP")


@pytest.mark.parametrize(
    "query", ["ssl_ca_cert=/etc/ca.crt", "cacertfile=/etc/ca.crt", "ssl_cert_reqs=perhaps", "ssl_check_hostname=so"]
)
def test_a_parameter_that_is_not_known_is_named(query: str) -> None:
    with pytest.raises(ValueError, match=r"celery_broker_url\n.*ssl_ca_certs, ssl_certfile, ssl_keyfile"):
        Settings(celery_broker_url=f"amqps://guest:HUNTER@127.0.0.1//?{query}")
