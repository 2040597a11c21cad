"""`deploy/compose`, really brought up: a question is answered, and workers come and go while jobs are in flight."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.fixtures.composed import Composed, composed
from tests.fixtures.containers import ROOT, ContainerRefused, need_containers
from tests.fixtures.tallies import until

COMPOSE: Final = ROOT / "deploy" / "compose"
#: What Querymill's own services run.
OURS: Final = ("gateway", "search", "ingest", "embed", "ranks", "migrate", "keys")
PATIENCE_S: Final = 400
LINES: Final = [
    {
        "sha1": f"r{number}",
        "title": f"Report {number}",
        "pages": [{"page": 1, "text": f"harbour {number} has nine ships"}],
    }
    for number in range(20)
]
JOBS: Final = 200


@pytest.fixture(scope="module")
def services() -> Mapping[str, Any]:
    """The services of every profile as Compose reads them."""
    program = str(Path(sys.executable).with_name("docker-compose"))
    command = [program, "-f", str(COMPOSE / "compose.yaml"), "--profile", "*", "config", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)["services"]
    return found


def test_our_services_run_hardened_and_only_the_gateway_is_published_to_this_machine(
    services: Mapping[str, Any],
) -> None:
    for name in OURS:
        service = services[name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"]
        assert service["pids_limit"] == 300
        written = [volume for volume in service.get("volumes", ()) if not volume.get("read_only")]
        assert bool(written) == (name == "gateway"), name
        secret = [name for name in service["environment"] if name.endswith(("_URL", "_KEY", "_PASSWORD"))]
        assert [name for name in secret if name != "QUERYMILL_CACHE_URL"] == []
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published.keys() == {"gateway", "prometheus"}
    assert {port["host_ip"] for ports in published.values() for port in ports} == {"127.0.0.1"}
    assert services["prometheus"]["profiles"] == ["observability"]


def test_the_board_keeps_what_the_cache_may_lose(services: Mapping[str, Any]) -> None:
    def options(name: str) -> dict[str, str]:
        words = services[name]["command"][1:]
        return dict(zip(words[::2], words[1::2], strict=True))

    board, cache = options("board"), options("cache")
    assert (board["--maxmemory-policy"], board["--appendonly"]) == ("noeviction", "yes")
    assert [volume["target"] for volume in services["board"]["volumes"]] == ["/data"]
    assert (cache["--maxmemory-policy"], cache["--appendonly"], cache["--save"]) == ("allkeys-lru", "no", "")
    reach_the_cache = {name for name, service in services.items() if "cached" in service["networks"]}
    assert reach_the_cache == {"cache", "search", "ingest", "embed", "ranks"}


@pytest.mark.parametrize("profiles", [[], ["rabbitmq"], ["observability"], ["pgbouncer"], ["rabbitmq", "pgbouncer"]])
def test_each_profile_adds_its_server(profiles: list[str]) -> None:
    program = str(Path(sys.executable).with_name("docker-compose"))
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    done = subprocess.run(
        [program, "-f", str(COMPOSE / "compose.yaml"), *chosen, "config", "--services"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    added = {"rabbitmq": "rabbitmq", "observability": "prometheus", "pgbouncer": "pgbouncer"}
    always = {"board", "cache", "database", "migrate", "gateway", "search", "ingest", "embed", "ranks"}
    assert set(done.stdout.split()) == always | {added[profile] for profile in profiles}


def test_no_word_of_a_health_check_is_split_by_podman(services: Mapping[str, Any]) -> None:
    checks = {name: service["healthcheck"]["test"] for name, service in services.items() if "healthcheck" in service}
    assert checks.keys() >= {"gateway", "search", "ingest", "embed", "ranks", "board", "database", "rabbitmq"}
    assert {name: check for name, check in checks.items() if check[0] == "CMD" and " " in "".join(check)} == {}


@pytest.fixture(scope="module")
def up() -> Iterator[Composed]:
    """A fleet whose search workers have four threads, each of which waits a second for the provider."""
    need_containers()
    slow = {"search": {"command": ["worker", "--queues", "search,expand,rerank", "--threads", "4", "--name", "search"]}}
    try:
        with composed(services=slow) as project:
            project("up", "--detach", within_s=PATIENCE_S)
            yield project
    except ContainerRefused as refused:
        pytest.fail(str(refused))


def key_of(project: Composed, *scopes: str) -> dict[str, str]:
    given = [word for scope in scopes for word in ("--scope", scope)]
    said = project("run", "--rm", "--no-TTY", "keys", "add", "test", "--collection", "*", *given, "--json")
    return {"Authorization": f"Bearer {json.loads(said)['key']}"}


def ingested(http: httpx.Client, lines: list[Any]) -> httpx.Response:
    body = "\n".join(map(json.dumps, lines))
    media = {"Content-Type": "application/x-ndjson"}
    return posted(http, "/v1/collections/harbour/reports", content=body, headers=media, params={"wait": 50})


def posted(http: httpx.Client, at: str, **options: Any) -> httpx.Response:
    """Send a request, again if the gateway asks for it: podman resolves no names while a container joins."""
    for _ in range(60):
        answer = http.post(at, **options)
        if answer.status_code != 503:
            break
        time.sleep(1)
    assert answer.is_success, answer.text
    return answer


def jobs_by_state(http: httpx.Client, kind: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for family in http.get("/metrics").text.splitlines():
        if family.startswith("querymill_jobs_ended_total{") and f'kind="{kind}"' in family:
            found[family.partition('state="')[2].partition('"')[0]] += int(float(family.rpartition(" ")[2]))
    return found


class InFlight:
    """Submits searches, so that a number of them is always in flight, however fast the machine is."""

    def __init__(self, http: httpx.Client) -> None:
        self._http, self._over = http, threading.Event()
        self.links: list[dict[str, str]] = []

    def ended(self) -> int:
        return jobs_by_state(self._http, "reports").total()

    def run(self) -> None:
        while not self._over.is_set():
            for number in range(len(self.links), self.ended() + JOBS):
                # What is tried is that jobs go on, not how fast: the deadline is the longest that there is.
                asked = {
                    "kind": "reports",
                    "collection": "harbour",
                    "query": f"ships of harbour {number}?",
                    "deadline": 600,
                }
                answer = posted(self._http, "/v1/jobs", json=asked, headers={"Idempotency-Key": f"harbour-{number}"})
                self.links.append(answer.json()["links"])
            time.sleep(0.2)

    @contextmanager
    def kept(self) -> Iterator[None]:
        with ThreadPoolExecutor(1) as other:
            running = other.submit(self.run)
            try:
                until(lambda: running.done() or len(self.links) >= JOBS, within_s=PATIENCE_S)
                yield
            finally:
                self._over.set()
        running.result()


@pytest.mark.nightly
@pytest.mark.timeout(1500)
def test_workers_come_and_go_with_two_hundred_jobs_in_flight_and_none_is_lost_or_doubled(up: Composed) -> None:
    headers = key_of(up, "search", "ingest", "operate")
    with httpx.Client(base_url=up.url, headers=headers, timeout=PATIENCE_S) as http:
        assert ingested(http, LINES).status_code == 200
        until(lambda: httpx.get(f"{up.url}/v1/collections").status_code == 401, within_s=PATIENCE_S)

        def searchers() -> int:
            return sum("search" in worker["queues"] for worker in http.get("/v1/fleet").json()["workers"])

        flight = InFlight(http)
        with flight.kept():
            for count in (3, 1):
                before = flight.ended()
                up("up", "--detach", "--no-recreate", "--scale", f"search={count}", within_s=PATIENCE_S)
                until(lambda: searchers() == count, within_s=PATIENCE_S)  # noqa: B023
                until(lambda: flight.ended() > before, within_s=PATIENCE_S)  # noqa: B023
        until(lambda: flight.ended() == len(flight.links), within_s=PATIENCE_S)
        found = [http.get(each["result"]).json() for each in flight.links]
        assert [each for each in found if not each.get("results")][:3] == []
        # A job that two workers ended would be counted twice.
        assert jobs_by_state(http, "reports") == Counter(done=len(flight.links))
        assert len(up.containers("search")) == 1
        for service in ("gateway", "search", "ingest", "embed", "ranks"):
            until(lambda: up.containers(service)[0]["Health"] == "healthy", within_s=PATIENCE_S)  # noqa: B023


@pytest.mark.nightly
@pytest.mark.timeout(1500)
def test_a_fleet_on_rabbitmq_behind_pgbouncer_is_seen_by_prometheus() -> None:
    need_containers()
    chosen = {
        "CELERY_BROKER_URL_FILE": "/run/secrets/broker-url",
        "DATABASE_URL_FILE": "/run/secrets/pooled-database-url",
    }
    with composed("rabbitmq", "pgbouncer", "observability", variables=chosen) as project:
        project("up", "--detach", within_s=PATIENCE_S)
        headers = key_of(project, "search", "ingest", "operate")
        with httpx.Client(base_url=project.url, headers=headers, timeout=PATIENCE_S) as http:
            assert ingested(http, LINES[:1]).status_code == 200
            found = posted(
                http,
                "/v1/jobs",
                params={"wait": 50},
                json={"kind": "reports", "collection": "harbour", "query": "ships?"},
            )
            assert found.json()["results"], found.text
        at = f"http://127.0.0.1:{project.variables['PROMETHEUS_PORT']}/api/v1/query"

        def seen(query: str) -> list[Any]:
            return list(httpx.get(at, params={"query": query}).json()["data"]["result"])

        until(lambda: seen('max(querymill_slots{queue="search"}) > 0'), within_s=90)
        # The queries by which Kubernetes scales have an answer.
        for scaled in yaml.safe_load_all((ROOT / "deploy/kubernetes/keda/scaling.yaml").read_text()):
            for trigger in scaled["spec"]["triggers"]:
                assert len(seen(trigger["metadata"]["query"])) == 1, trigger
