"""Pages of PDF files beside their texts: for those who may read the report, of files in named folders, as they were."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from querymill.gateway.console import pictures
from querymill.keys import STORED_AT, Keyring, Scope
from querymill_shared.settings import Settings
from tests.fakes.worker import WorkerProcess
from tests.fixtures import documents
from tests.fixtures.command_line import CommandLine
from tests.fixtures.console import Page, read_page
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.tallies import until

PNG = b"\x89PNG\r\n\x1a\n"
Ingest = Callable[..., dict[str, str]]
AT = "/console/collections/sheets/reports"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def settings(deployment: Deployment, folder: Path) -> Settings:
    return deployment.settings.model_copy(update={"querymill_document_folders": [str(folder)]})


@pytest.fixture(scope="module")
def console(settings: Settings) -> Iterator[GatewayHere]:
    with GatewayHere(settings) as here:
        yield here


@pytest.fixture
def http(console: GatewayHere) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=console.url, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture(scope="module")
def ingested(deployment: Deployment, worker: WorkerProcess) -> Ingest:
    """Reads files into the collection, and returns the id of each by its name."""
    querymill = CommandLine(deployment.environment)

    def ingest(*paths: Path) -> dict[str, str]:
        run = querymill("ingest", "reports", *paths, "--collection", "sheets", "--json")
        assert run.returncode == 0, run.stderr
        return {Path(each["source"]).name: each["id"] for each in json.loads(run.stdout)["documents"]}

    return ingest


@pytest.fixture(scope="module")
def tides(ingested: Ingest, folder: Path) -> str:
    """The id of a report of two pages."""
    return ingested(written(folder / "tides.pdf", "ebb", "flood"))["tides.pdf"]


def written(path: Path, *texts: str) -> Path:
    path.write_bytes(documents.pdf(*map(documents.lines, texts)))
    return path


def look(http: httpx.Client, path: str) -> Page:
    found = http.get(path)
    return read_page(found.text, found.headers, found.status_code)


def picture_on(page: Page) -> str | None:
    assert page.status == 200
    found = page.all("img")
    return str(found[0]["src"]) if found else None


def test_the_page_of_a_kept_file_stands_beside_its_text(http: httpx.Client, tides: str) -> None:
    page = look(http, f"{AT}/{tides}?page=2")
    at = picture_on(page)
    assert at == f"{AT}/{tides}/pages/2.png"
    assert page.all("figure") != []
    assert "img-src 'self'" in page.headers["content-security-policy"]
    drawn = http.get(at)
    assert (drawn.status_code, drawn.headers["content-type"], drawn.content[:8]) == (200, "image/png", PNG)
    assert drawn.headers["cache-control"] == "private, no-cache"
    assert drawn.content != http.get(f"{AT}/{tides}/pages/1.png").content
    again = http.get(at, headers={"If-None-Match": drawn.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("number", ["0", "3", "-1", "9" * 30])
def test_there_is_no_picture_of_a_page_that_the_file_does_not_have(http: httpx.Client, tides: str, number: str) -> None:
    answer = http.get(f"{AT}/{tides}/pages/{number}.png")
    assert (answer.status_code, "the file has 2 pages" in answer.text) == (404, True)


def test_a_file_elsewhere_or_behind_a_link_or_changed_has_no_picture(
    http: httpx.Client, ingested: Ingest, folder: Path, tmp_path: Path
) -> None:
    outside = written(tmp_path / "outside.pdf", "outside")
    changed = written(folder / "changed.pdf", "before")
    moved = written(folder / "moved.pdf", "here")
    ids = ingested(outside, changed, moved)
    written(changed, "after")
    moved.rename(tmp_path / "moved.pdf")
    moved.symlink_to(tmp_path / "moved.pdf")  # the same content, but not in the folder
    for name, id_ in ids.items():
        page = look(http, f"{AT}/{id_}")
        assert (name, picture_on(page), page.all("figure")) == (name, None, [])
        answer = http.get(f"{AT}/{id_}/pages/1.png")
        assert (answer.status_code, "is not kept here, or is another by now" in answer.text) == (404, True)


def test_a_report_cannot_claim_a_file_that_it_was_not_read_from(
    http: httpx.Client, ingested: Ingest, folder: Path
) -> None:
    secret = written(folder / "secret.pdf", "secret")
    claims: list[dict[str, Any]] = [{}, {"source_stamp": f"1:2:{'0' * 64}:a"}, {"source_stamp": "secret"}]
    for at, claim in enumerate(claims):
        line = {
            "sha1": f"claim-{at}", "title": "a", "company": "b", "format": "pdf", "source": str(secret),
            "pages": [{"page": 1, "text": "claimed"}],
        }  # fmt: skip
        media = {"Content-Type": "application/x-ndjson"}
        sent = http.post("/v1/collections/sheets/reports", json=line | claim, headers=media)
        assert sent.status_code == 202, sent.text
        until_stored(http, f"claim-{at}")
        assert picture_on(look(http, f"{AT}/claim-{at}")) is None
        assert http.get(f"{AT}/claim-{at}/pages/1.png").status_code == 404


def until_stored(http: httpx.Client, id_: str) -> None:
    until(lambda: http.get(f"/v1/collections/sheets/reports/{id_}").status_code == 200, within_s=PATIENCE_S)


def test_without_the_engines_there_are_no_pictures_and_no_errors(
    http: httpx.Client, tides: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "_ENGINES", ("an_engine_that_nobody_installed",))
    page = look(http, f"{AT}/{tides}")
    assert picture_on(page) is None
    assert "ebb" in page.text
    assert http.get(f"{AT}/{tides}/pages/1.png").status_code == 404


def test_a_key_sees_pictures_of_its_collections_only(settings: Settings, tides: str) -> None:
    with closing(Keyring.connect(settings)) as keyring, GatewayHere(settings) as guarded:
        try:
            written_keys = {
                name: keyring.add(name, scopes=(Scope.SEARCH,), collections=(name,))[1] for name in ("sheets", "others")
            }
            assert picture_for(guarded, tides, None) == 303  # to the page where a key is given
            assert picture_for(guarded, tides, written_keys["others"]) == 404
            assert picture_for(guarded, tides, written_keys["sheets"]) == 200
        finally:
            with redis.Redis.from_url(settings.redis_url) as server:
                server.delete(STORED_AT)


def picture_for(gateway: GatewayHere, id_: str, key: str | None) -> int:
    """The status of the picture for a visitor who signs in with a key."""
    with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as visitor:
        if key is not None:
            page = look(visitor, "/console/sign-in")
            token = page.all("input", name="token")[0]["value"]
            signed = visitor.post("/console/sign-in", data={"token": token, "key": key, "next": "/console"})
            assert signed.status_code == 303
        return visitor.get(f"{AT}/{id_}/pages/1.png").status_code
