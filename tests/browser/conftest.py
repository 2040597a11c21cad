"""A real browser. Where none is installed, these tests are skipped."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
import redis
from playwright.sync_api import Browser, Page, sync_playwright

from querymill import Querymill
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayHere

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: It reaches nothing but the gateway, and needs no rights of its own.
_OPTIONS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
#: A busy machine needs its time, in ms.
PATIENCE_MS: Final = 60_000

OpenPage = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_OPTIONS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def gateway(deployment: Deployment) -> Iterator[GatewayHere]:
    with GatewayHere(deployment.settings) as here:
        yield here


@pytest.fixture(scope="module")
def quiet(deployment: Deployment) -> Iterator[Settings]:
    """A board without workers: on it jobs stay as they are."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/9"
    settings = deployment.settings.model_copy(update={"redis_url": url})
    with redis.Redis.from_url(url) as server:
        server.flushdb()
        yield settings
        server.flushdb()


@pytest.fixture(scope="module")
def quiet_gateway(quiet: Settings) -> Iterator[GatewayHere]:
    with GatewayHere(quiet) as here:
        yield here


@pytest.fixture
def quiet_mill(quiet: Settings) -> Iterator[Querymill]:
    with Querymill(settings=quiet) as mill:
        yield mill


@pytest.fixture
def open_page(browser: Browser, gateway: GatewayHere) -> OpenPage:
    """Opens a page of the console. What it asks of another host, or does against its policy, fails the test."""

    @contextmanager
    def opened(
        path: str, *, width: int = 1280, scheme: Any = "light", at: str = "", bypass_csp: bool = False
    ) -> Iterator[Page]:
        base, faults = at or gateway.url, list[str]()
        context = browser.new_context(
            viewport={"width": width, "height": 800 if width > 400 else 667}, color_scheme=scheme, base_url=base,
            bypass_csp=bypass_csp,
        )  # fmt: skip
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("request", lambda asked: None if asked.url.startswith(base) else faults.append(f"asked {asked.url}"))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(path)
        yield page
        context.close()
        assert faults == []

    return opened
