"""Real servers for the whole run, started when the first test asks for one."""

import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from querymill_embedded import Stack, StackPart, temporary_stack
from querymill_workers.postgres.migrate import migrate
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.rabbit import Rabbit, rabbit
from tests.fixtures import own_services  # noqa: F401  # read before the settings are hidden below
from tests.fixtures.command_line import querymill
from tests.fixtures.databases import empty_url
from tests.fixtures.deployment import (
    board_client,
    database,
    deployment,
    filings,
    fresh_accounts,
    gateway_of_client,
    mill,
    worker,
)
from tests.fixtures.inference import provider, wired
from tests.fixtures.mongo_server import mongo_server
from tests.fixtures.releases import former_release
from tests.fixtures.short_forms import DAILY
from tests.fixtures.valkey_clusters import ValkeyCluster, valkey_cluster

# One definition for the whole run: a fixture of the session that two conftests import would exist twice.
__all__ = [
    "board_client",
    "database",
    "deployment",
    "empty_url",
    "filings",
    "former_release",
    "fresh_accounts",
    "gateway_of_client",
    "mill",
    "provider",
    "querymill",
    "wired",
    "worker",
]

#: No test depends on how fast the machine is just now.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", UNHURRIED, max_examples=DAILY)
settings.load_profile("quick")
#: What `make nightly` asks for, and `make faults`.
settings.register_profile("nightly", UNHURRIED, max_examples=500)
settings.register_profile("thorough", UNHURRIED, max_examples=2_000)

for name in list(os.environ):
    # Whoever runs the tests may use Querymill too: their settings are none of ours.
    if name.startswith("QUERYMILL_") or name.endswith(("_BASE_URL", "_API_KEY", "_MODEL")) or name in (
        "REDIS_URL", "CELERY_BROKER_URL", "DATABASE_URL", "MONGODB_URI",
    ):  # fmt: skip
        del os.environ[name]


# A shell ignores Ctrl-C for what it starts in the background, and whatever is started below inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class FailuresAtOnce:
    """Names each failure when it happens, so that a run which is cut off has named those that it saw."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            said = str(getattr(getattr(report.longrepr, "reprcrash", None), "message", "")).partition("\n")[0]
            terminal.ensure_newline()
            terminal.write_line(
                f"{report.nodeid} failed ({report.when}, {report.duration:.1f} s): {said[:300]}", red=True
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker", choices=("valkey", "rabbitmq"), default="valkey",
        help="what carries the bells of the deployment that the tests share (default: the board's own server)",
    )  # fmt: skip

    parser.addoption(
        "--client", choices=("board", "http"), default="board",
        help="how the client of the tests that share a deployment reaches the jobs (default: over the board)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # what the processes of a run report comes together in the first
        config.pluginmanager.register(FailuresAtOnce(config), "failures-at-once")


def pytest_collection_finish() -> None:
    """Take what lives as long as the run, the modules and all tests, out of what each search for garbage walks over."""
    gc.freeze()


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Valkey and PostgreSQL in a temporary folder."""
    with temporary_stack(parts={StackPart.VALKEY, StackPart.POSTGRES}) as running:
        yield running


@pytest.fixture(scope="session")
def valkey_url(stack: Stack) -> str:
    """A database of Valkey that each test may empty; the workers of the system tests use another."""
    return stack.environment()["REDIS_URL"].removesuffix("/0") + "/1"


@pytest.fixture(scope="session")
def valkeys() -> Iterator[ValkeyCluster]:
    """A cluster of three primaries and their replicas, started for the tests that ask for it. They leave it whole."""
    with valkey_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def database_url(stack: Stack) -> str:
    """PostgreSQL with the newest schema."""
    url = stack.environment()["DATABASE_URL"]
    migrate(url)
    return url


@pytest.fixture(scope="session")
def mongodb_uri() -> Iterator[str]:
    """A server of MongoDB's wire, started for the tests that ask for it."""
    with mongo_server() as uri:
        yield uri


@pytest.fixture(scope="session")
def shared_rabbit() -> Iterator[Rabbit]:
    """A RabbitMQ that nobody kills, started for the tests that ask for it. No message may be held for 2 s."""
    with rabbit("-rabbit consumer_timeout 2000 -rabbit channel_tick_interval 500") as running:
        yield running


@pytest.fixture(scope="session")
def broker_url(request: pytest.FixtureRequest) -> str:
    """The broker that ``--broker`` names, or "" for the board's own server."""
    if request.config.getoption("broker") == "valkey":
        return ""
    shared: Rabbit = request.getfixturevalue("shared_rabbit")
    return shared.url()


@pytest.fixture(scope="session")
def _openai_server() -> Iterator[OpenAIServer]:
    with OpenAIServer().running() as server:
        yield server


@pytest.fixture
def openai_server(_openai_server: OpenAIServer) -> Iterator[OpenAIServer]:
    """The programmable model server, with its plain script and no requests seen. Other tests get it plain, too."""
    _openai_server.reset()
    yield _openai_server
    _openai_server.reset()
