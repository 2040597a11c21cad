"""The alerts and the dashboard of `deploy/`: a real fault fires each alert, and each expression has a value.

A real Prometheus scrapes a real fleet. Durations are shortened to seconds, and no expression is changed otherwise.
`test_alert_rules.py` has the real durations.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
import redis

from querymill import IngestReports, JobFailed, Querymill, Report, ReportSearch, Settings
from querymill_embedded import StackPart, free_ports, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.board.clock import NOTED, read_clock
from querymill_shared.board.keys import CLOCK
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.proxy import Network, network
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayProcess, gateway_process
from tests.fixtures.prometheus import DEPLOY, PATIENCE_S, Observed, need_prometheus, observed, rules
from tests.fixtures.tallies import until

COLLECTION: Final = f"alerts{uuid4().hex[:8]}"
REPORT = Report.model_validate(
    {"sha1": "a1", "title": "Nordhav", "company": "Nordhav", "pages": [{"page": 1, "text": "nine ships"}]}
)


@dataclass(frozen=True)
class Fleet:
    """A fleet with a board of its own behind a network: a gateway, and two workers, of which one alone embeds."""

    settings: Settings
    mill: Querymill
    gateway: GatewayProcess
    worker: WorkerProcess
    embedder: WorkerProcess
    between: Network
    board: redis.Redis
    prometheus: Observed
    provider: OpenAIServer

    def search(self, **fields: Any) -> Any:
        return self.mill.submit(ReportSearch(query=f"ships {uuid4().hex}?", collection=COLLECTION, **fields))

    def embed(self) -> Any:
        text = uuid4().hex
        return self.mill.submit(EmbedTexts(collection=COLLECTION, texts=(TextToEmbed(id=text, text=text),)))

    def is_sound(self) -> bool:
        """Whether every target answers and nothing fires."""
        healthy = [target["health"] for target in self.prometheus.targets()]
        firing = self.prometheus.query('ALERTS{alertstate="firing"}')
        return len(healthy) == 3 and set(healthy) == {"up"} and not firing


@pytest.fixture(scope="module")
def fleet(
    deployment: Deployment, _openai_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    need_prometheus()
    ports = free_ports(["all", "embed"], preferred={})
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        url = urlsplit(stack.environment()["REDIS_URL"])
        assert url.port is not None
        with network("127.0.0.1", url.port) as between, redis.Redis.from_url(url.geturl()) as board:
            through = url._replace(netloc=url.netloc.replace(f":{url.port}", f":{between.port}"))
            environment = deployment.environment | {
                "REDIS_URL": through.geturl(), "CHAT_RPM": "600",
            }  # fmt: skip
            settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
            with (
                WorkerProcess(
                    environment | {"QUERYMILL_METRICS_PORT": str(ports["all"])}, threads=8, name="all",
                    queues="search,expand,ingest,rerank,ranks",
                ) as worker,
                WorkerProcess(
                    environment | {"QUERYMILL_METRICS_PORT": str(ports["embed"])}, threads=2, name="embedder",
                    queues="embed",
                ) as embedder,
                gateway_process(environment) as gateway,
                Querymill(settings=settings) as mill,
                observed(tmp_path_factory.mktemp("prometheus"), targets={
                    "querymill-worker": [f"127.0.0.1:{port}" for port in ports.values()],
                    "querymill-gateway": [gateway.url.removeprefix("http://")],
                }) as prometheus,
            ):  # fmt: skip
                mill.submit(IngestReports(collection=COLLECTION, documents=(REPORT,))).result(timeout=PATIENCE_S)
                yield Fleet(settings, mill, gateway, worker, embedder, between, board, prometheus, _openai_server)


@pytest.fixture
def sound(fleet: Fleet, openai_server: OpenAIServer) -> Fleet:
    """The fleet, with nothing to alert of."""
    assert openai_server is fleet.provider
    fleet.search().result(timeout=PATIENCE_S)
    until(fleet.is_sound, within_s=PATIENCE_S)
    fleet.prometheus.webhook.told.clear()
    return fleet


def kill_a_worker(fleet: Fleet) -> Callable[[], None]:
    """A worker is killed while it holds a step: its queue has no other."""
    fleet.provider.script.embeddings = lambda _: Answer(b"{}", status=503, after_s=1)
    fleet.embed()
    until(lambda: fleet.prometheus.query('querymill_steps_running{queue="embed"} == 1'), within_s=PATIENCE_S)
    fleet.embedder.kill()

    def mend() -> None:
        fleet.provider.reset()
        fleet.embedder.start()

    return mend


def cut_off_the_board(fleet: Fleet) -> Callable[[], None]:
    """The network to the board is cut."""
    fleet.between.cut()
    return fleet.between.mend


def fill_the_board(fleet: Fleet) -> Callable[[], None]:
    """The board's server has no memory left, so it takes no jobs, and callers ask on."""
    fleet.board.config_set("maxmemory", 1)
    search = ReportSearch(query="ships?", collection=COLLECTION).model_dump_json()
    for _ in range(12):
        sent = httpx.post(
            f"{fleet.gateway.url}/v1/jobs", content=search, timeout=PATIENCE_S,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        assert sent.status_code == 503, sent.text
        time.sleep(0.25)

    def mend() -> None:
        fleet.board.config_set("maxmemory", 0)

    return mend


def forget_accounts(fleet: Fleet) -> None:
    """Have the fleet try its providers again at once."""
    fleet.provider.reset()
    for key in fleet.board.scan_iter("qm:account:*"):
        fleet.board.delete(key)


def break_the_provider(fleet: Fleet) -> Callable[[], None]:
    """The provider of the chat model answers 503, so searches lack a part."""
    fleet.provider.script.chat = lambda _: Answer(b"{}", status=503)
    for _ in range(6):
        assert not fleet.search(hyde=True, deadline=4).result(timeout=PATIENCE_S).complete
    return lambda: forget_accounts(fleet)


def serve_another_model(fleet: Fleet) -> Callable[[], None]:
    """The provider embeds by another model, so what is to be embedded is given up after some attempts."""

    def too_short(request: dict[str, Any]) -> Answer:
        vectors = [{"index": index, "embedding": [1.0]} for index, _ in enumerate(request["input"])]
        return Answer(json.dumps({"data": vectors, "usage": {"total_tokens": 1}}).encode())

    fleet.provider.script.embeddings = too_short
    for job in [fleet.embed() for _ in range(5)]:
        with pytest.raises(JobFailed):
            job.result(timeout=PATIENCE_S)

    def mend() -> None:
        forget_accounts(fleet)
        with closing(ValkeyBoard.connect(fleet.settings)) as board:
            assert [board.drop(job_id) for job_id in board.dead(limit=100)] == [True] * 5

    return mend


def limit_calls(fleet: Fleet) -> Callable[[], None]:
    """The provider allows no call for a minute, so searches go without the model's words."""
    fleet.provider.script.chat = lambda _: Answer(b"{}", status=429, headers={"Retry-After": "60"})
    for _ in range(3):
        fleet.search(hyde=True, deadline=3).result(timeout=PATIENCE_S)

    return lambda: forget_accounts(fleet)


def stop_a_worker_and_wait(fleet: Fleet) -> Callable[[], None]:
    """A queue has no worker, and two hours pass on the board."""
    assert fleet.embedder.process is not None
    fleet.embedder.process.send_signal(signal.SIGSTOP)
    fleet.embed()
    server_s, micros = fleet.board.time()
    at = round((read_clock(fleet.board) + 7_200) * 1_000_000)
    fleet.board.hset(CLOCK, NOTED, f"{at} {server_s * 1_000_000 + micros}")

    def mend() -> None:
        assert fleet.embedder.process is not None
        fleet.embedder.process.send_signal(signal.SIGCONT)

    return mend


FAULTS: Final[dict[Callable[[Fleet], Callable[[], None]], set[str]]] = {
    kill_a_worker: {"QuerymillProcessGone", "QuerymillNoWorker", "QuerymillWorkersDie"},
    cut_off_the_board: {"QuerymillBoardAway"},
    fill_the_board: {"QuerymillGatewayFails"},
    break_the_provider: {"QuerymillProviderFails", "QuerymillJobsIncomplete"},
    serve_another_model: {"QuerymillJobsDead", "QuerymillJobsFail"},
    limit_calls: {"QuerymillProviderBusy"},
    stop_a_worker_and_wait: {"QuerymillStepsWait"},
}  # fmt: skip
#: Those of `make test`; `make nightly` has all.
SHORT: Final = (cut_off_the_board,)


def test_each_alert_is_fired_by_one_of_these_faults() -> None:
    fired = [alert for alerts in FAULTS.values() for alert in alerts]
    assert sorted(fired) == sorted(rule["alert"] for rule in rules())


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=fault.__name__, marks=() if fault in SHORT else pytest.mark.nightly) for fault in FAULTS],
)
def test_a_fault_fires_its_alerts_and_its_mending_ends_them(sound: Fleet, fault: Any) -> None:
    mend = fault(sound)
    try:
        sound.prometheus.webhook.await_told(FAULTS[fault])
    finally:
        mend()
    sound.prometheus.webhook.await_told(FAULTS[fault], status="resolved")


def expressions_of_the_dashboard() -> list[str]:
    panels = json.loads((DEPLOY / "grafana" / "querymill.json").read_text())["panels"]
    return [target["expr"].replace("$__rate_interval", "15s") for panel in panels for target in panel["targets"]]


def test_every_expression_of_the_dashboard_has_a_value(sound: Fleet) -> None:
    sound.search(hyde=True).result(timeout=PATIENCE_S)
    sound.embed().result(timeout=PATIENCE_S)
    empty = list(expressions_of_the_dashboard())

    def is_empty(expression: str) -> bool:
        return not sound.prometheus.query(expression)

    def all_have_values() -> bool:
        httpx.get(f"{sound.gateway.url}/v1/jobs", timeout=PATIENCE_S)
        empty[:] = [expression for expression in empty if is_empty(expression)]
        return not empty

    try:
        until(all_have_values, within_s=PATIENCE_S)
    except AssertionError:
        pytest.fail(f"no value: {empty}")
