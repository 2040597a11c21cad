"""The primary of the board is killed under load: every job that was accepted is answered, and nobody sees a defect."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
import pytest

from querymill import EmbedTexts, Querymill, Settings
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayHere
from tests.fixtures.proxies import proxy_to_primary
from tests.fixtures.sentinels import PASSWORD, THEIRS, Sentinels, sentinels

#: The ways to the board and to the broker.
WAYS: Final[dict[str, Callable[[Sentinels, str], dict[str, str]]]] = {
    "Sentinel, and a proxy to the broker": lambda led, proxied: {
        "REDIS_URL": led.url(), "CELERY_BROKER_URL": proxied,
    },
    "a proxy, and Sentinel to the broker": lambda led, proxied: {
        "REDIS_URL": proxied, "CELERY_BROKER_URL": led.for_celery(db=2),
    },
    "Sentinel for both": lambda led, proxied: {"REDIS_URL": led.url()},
}  # fmt: skip


@pytest.fixture
def led() -> Iterator[Sentinels]:
    with sentinels() as running:
        yield running


@pytest.fixture
def proxied(led: Sentinels) -> Iterator[str]:
    with proxy_to_primary(led) as url:
        yield url


def texts(name: str) -> EmbedTexts:
    return EmbedTexts.model_validate({"collection": "c", "texts": [{"id": name, "text": f"nine ships {name}"}]})


@pytest.mark.parametrize("way", [
    "Sentinel, and a proxy to the broker",
    pytest.param("a proxy, and Sentinel to the broker", marks=pytest.mark.nightly),
    pytest.param("Sentinel for both", marks=pytest.mark.nightly),
])  # fmt: skip
def test_every_accepted_job_is_answered(
    deployment: Deployment, openai_server: OpenAIServer, led: Sentinels, proxied: str, way: str
) -> None:
    environment = deployment.environment | WAYS[way](led, proxied)
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with (
        WorkerProcess(environment, threads=8) as worker,
        GatewayHere(settings) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as http,
        Querymill(settings=settings) as mill,
    ):
        assert mill.submit(texts("before")).result(timeout=30).state == "done"
        openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=0.7)
        in_flight = [mill.submit(texts(f"in flight {number}")) for number in range(12)]
        with ThreadPoolExecutor(1) as other:
            losing = other.submit(led.lose_primary)
            sent: list[httpx.Response] = []
            while not losing.done() or sent[-1].status_code != 202:
                sent.append(http.post("/v1/jobs", json=texts(f"meanwhile {len(sent)}").model_dump(mode="json")))
                time.sleep(0.1)
            losing.result()
        assert {(each.status_code, each.headers.get("Retry-After")) for each in sent} <= {(202, None), (503, "1")}
        assert [job.result(timeout=60).state for job in in_flight] == ["done"] * 12
        accepted = [each.json()["job_id"] for each in sent if each.status_code == 202]
        results = [http.get(f"/v1/jobs/{job_id}/result?wait=30").status_code for job_id in accepted]
        assert results == [200] * len(accepted)
        assert worker.is_alive
        shown = CommandLine(environment | NO_MODELS)("doctor").stdout
        written = worker.log + shown
    assert "ok   board" in shown or "a restart of the server loses open jobs" in shown
    assert PASSWORD not in written
    assert THEIRS not in written
