"""How a client over HTTP gets to its gateway: through TLS, proxies and outages."""

import threading
import time
from collections.abc import Iterator

import pytest
import redis

from querymill import EmbedTexts, JobCancelled, Querymill, Settings, StillRunning, Unavailable, UnexpectedReply
from querymill.keys import Scope
from querymill_embedded import free_ports
from querymill_shared.board import Verdict
from tests.fakes.socks import socks_proxy
from tests.fixtures.boards import board_of
from tests.fixtures.deployment import Deployment
from tests.fixtures.front_proxies import front_proxy
from tests.fixtures.gateways import GatewayHere, keys_on

EMBED = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "t", "text": "x"}]})


@pytest.fixture
def quiet(deployment: Deployment) -> Iterator[Settings]:
    """The settings of a board that no worker serves."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/9"
    with redis.Redis.from_url(url) as server:
        server.flushdb()
        yield deployment.settings.model_copy(update={"redis_url": url})
        server.flushdb()


@pytest.mark.nightly
def test_a_gateway_behind_tls_is_trusted_by_the_authorities_of_the_environment(
    quiet: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GatewayHere(quiet.model_copy(update={"querymill_hosts": ["localhost"]})) as gateway, keys_on(quiet) as keyring:
        _, key = keyring.add("backend", scopes=(Scope.SEARCH,), collections=("filings",))
        with front_proxy("caddy", gateway.port) as front:
            began = time.monotonic()
            with Querymill(url=front.url, api_key=key) as mill, pytest.raises(Unavailable) as distrusted:
                mill.collections()
            assert "CERTIFICATE_VERIFY_FAILED" in distrusted.value.detail
            assert time.monotonic() - began < 8  # no later try would help
            monkeypatch.setenv("SSL_CERT_FILE", str(front.folder / "authority.crt"))
            with Querymill(url=front.url, api_key=key) as mill:
                assert mill.collections() == {}
                assert mill.recent() == []
            with Querymill(url=front.plain_url, api_key=key) as mill, pytest.raises(UnexpectedReply, match="30"):
                mill.collections()  # a redirection is not followed: the key goes to no other address


@pytest.mark.nightly
def test_a_gateway_elsewhere_is_called_through_the_proxy_of_the_environment(
    quiet: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        GatewayHere(quiet.model_copy(update={"querymill_hosts": ["mill.invalid"]})) as gateway,
        keys_on(quiet) as keyring,
    ):
        _, key = keyring.add("backend", scopes=(Scope.SEARCH,), collections=("filings",))
        with socks_proxy(("127.0.0.1", gateway.port)) as (port, named):
            monkeypatch.setenv("ALL_PROXY", f"socks5h://127.0.0.1:{port}")
            with Querymill(url="http://mill.invalid", api_key=key) as mill:  # no name server knows it
                assert mill.collections() == {}
        assert named == ["mill.invalid"]


@pytest.mark.nightly
def test_an_outage_is_waited_out_once_the_gateway_has_answered(quiet: Settings) -> None:
    port = free_ports(["gateway"], preferred={})["gateway"]
    with Querymill(url=f"http://127.0.0.1:{port}") as mill, Querymill(settings=quiet) as here:
        began = time.monotonic()
        with pytest.raises(Unavailable) as away:
            mill.submit(EMBED)
        assert 5 < time.monotonic() - began < 60
        assert str(port) not in str(away.value)
        assert str(port) in away.value.detail
        job_id, _ = board_of(here).submit(EMBED)
        job, told, ends = mill.job(job_id), list[str](), list[str]()

        def wait() -> None:
            try:
                job.result(timeout=120)
            except JobCancelled as error:
                ends.append(str(error))

        with GatewayHere(quiet, port=port) as gateway:
            with pytest.raises(StillRunning):
                job.result(timeout=0.5)
            waits = [
                threading.Thread(target=wait),
                threading.Thread(target=lambda: told.extend(event.type for event in job.events(timeout=120))),
            ]
            for thread in waits:
                thread.start()
            gateway.until_waiting(2)
        time.sleep(12)  # longer than a wait that never had an answer would last
        board_of(here).settle(job_id, Verdict("cancelled", reason="cancelled by its caller"))
        with GatewayHere(quiet, port=port):
            for thread in waits:
                thread.join(60)
        assert (told, ends) == (["queued", "cancelled"], [f"job {job_id} was cancelled"])
