"""The picture of a page beside its text, in a browser: side by side on a desk, under each other on a phone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, OpenPage
from tests.fakes.worker import WorkerProcess
from tests.fixtures import documents
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayHere
from tests.fixtures.short_forms import crossed

expect.set_options(timeout=PATIENCE_MS)
TEXT = "The icebreaker Ymer was repaired in Karlskrona and sails again since May"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def console(deployment: Deployment, folder: Path) -> Iterator[GatewayHere]:
    with GatewayHere(deployment.settings.model_copy(update={"querymill_document_folders": [str(folder)]})) as here:
        yield here


@pytest.fixture(scope="module")
def reader(deployment: Deployment, worker: WorkerProcess, folder: Path) -> str:
    """The address of a report of two pages whose file is kept."""
    querymill, path = CommandLine(deployment.environment), folder / "ymer.pdf"
    path.write_bytes(documents.pdf(documents.lines("Ymer"), documents.lines(*[TEXT] * 20)))
    options = ("--collection", "sheets", "--json", "--title", "Icebreakers")
    run = querymill("ingest", "reports", path, *options)
    assert run.returncode == 0, run.stderr
    (id_,) = (each["id"] for each in json.loads(run.stdout)["documents"])
    return f"/console/collections/sheets/reports/{id_}"


@pytest.mark.parametrize(("width", "scheme"), crossed([1280, 375], ["light", "dark"]))
def test_the_page_stands_beside_its_text(
    open_page: OpenPage, console: GatewayHere, reader: str, width: int, scheme: Any
) -> None:
    with open_page(f"{reader}?page=2", width=width, scheme=scheme, at=console.url) as page:
        picture = page.get_by_alt_text("Page 2 as it is in the PDF file")
        expect(picture).to_be_visible()
        page.wait_for_function("document.querySelector('figure img').naturalWidth > 1000")
        text, drawn = page.locator(".doc").bounding_box(), picture.bounding_box()
        assert text
        assert drawn
        assert drawn["x"] >= 0
        assert drawn["x"] + drawn["width"] <= width
        if width == 1280:
            assert drawn["x"] > text["x"] + text["width"] - 1
            assert drawn["y"] < text["y"] + 100
            assert drawn["width"] > 500
        else:
            assert drawn["y"] > text["y"] + text["height"] - 1
            assert drawn["width"] > 300
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_picture_that_does_not_come_leaves_its_place_to_the_text(
    open_page: OpenPage, console: GatewayHere, reader: str
) -> None:
    with open_page("/console", at=console.url) as page:
        page.route("**/pages/*.png", lambda route: route.fulfill(status=404, body="no picture"))
        page.goto(f"{reader}?page=2")
        expect(page.locator("figure")).to_have_count(0)
        expect(page.locator(".beside")).to_have_count(0)
        expect(page.locator(".doc")).to_contain_text("Karlskrona")
