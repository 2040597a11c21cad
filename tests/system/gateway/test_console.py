"""The console over HTTP: who may look at what, that forms are our own, and that nothing is shown of others."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis

from querymill import ReportSearch
from querymill.keys import STORED_AT, Keyring, Scope
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.settings import Settings
from tests.fixtures.console import Page, read_page
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere

SECRET = "the margin of the secret collection"


@pytest.fixture(scope="module")
def guarded(deployment: Deployment) -> Iterator[Settings]:
    """A board without workers, with keys."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/10"
    settings = deployment.settings.model_copy(update={"redis_url": url})
    with redis.Redis.from_url(url) as server:
        server.flushdb()
        yield settings
        server.flushdb()


@pytest.fixture(scope="module")
def keyring(guarded: Settings) -> Iterator[Keyring]:
    with closing(Keyring.connect(guarded)) as keyring:
        keyring.add("somebody", scopes=(Scope.OPERATE,), collections=("*",))
        yield keyring


@pytest.fixture(scope="module")
def console(guarded: Settings, keyring: Keyring) -> Iterator[GatewayHere]:
    with GatewayHere(guarded) as here:
        yield here


@pytest.fixture(scope="module")
def jobs(guarded: Settings) -> Iterator[dict[str, str]]:
    """A job of each of two collections, and a dead one."""
    with closing(ValkeyBoard.connect(guarded)) as board:
        for collection in ("open", "secret"):
            board.announce("reports", [collection])

        def submit(collection: str) -> str:
            asked: JobRequest = ReportSearch(query=f"{SECRET} {uuid4().hex}", collection=collection, deadline=500)
            return board.submit(asked)[0]

        made = {"open": submit("open"), "secret": submit("secret"), "dead": submit("secret")}
        board.settle(made["dead"], Verdict("dead", reason=f"given up: {SECRET}"))
        yield made


class Visitor:
    """Somebody with a browser's cookies."""

    def __init__(self, at: str) -> None:
        self.http = httpx.Client(base_url=at, timeout=PATIENCE_S)

    def look(self, path: str) -> Page:
        found = self.http.get(path, follow_redirects=True)
        return read_page(found.text, found.headers, found.status_code)

    def token(self, path: str = "/console/sign-in") -> str:
        (token, *_) = self.look(path).all("input", name="token")
        return str(token["value"])

    def send(
        self, path: str, *, token: str | None = None, headers: dict[str, str] | None = None, **fields: Any
    ) -> httpx.Response:
        sent = {"token": self.token() if token is None else token} | fields
        return self.http.post(path, data=sent, headers=headers or {})


@pytest.fixture
def visitor(console: GatewayHere) -> Iterator[Visitor]:
    visitor = Visitor(console.url)
    with visitor.http:
        yield visitor


def signed_in(visitor: Visitor, keyring: Keyring, *collections: str, scopes: tuple[Scope, ...]) -> str:
    key, written = keyring.add("web-1", scopes=scopes, collections=collections)
    answer = visitor.send("/console/sign-in", key=written, next="/console/jobs")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/jobs")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    return key.id


def test_nobody_looks_without_a_key(visitor: Visitor, jobs: dict[str, str]) -> None:
    for path in ("/console", "/console/jobs", f"/console/jobs/{jobs['open']}"):
        page = visitor.look(path)
        assert page.all("input", name="key") != []
        assert SECRET not in page.text
    wrong = visitor.send("/console/sign-in", key="qm_000000000000_" + "x" * 43)
    assert wrong.status_code == 401


def test_a_session_sees_what_its_key_sees(visitor: Visitor, keyring: Keyring, jobs: dict[str, str]) -> None:
    signed_in(visitor, keyring, "open", scopes=(Scope.SEARCH,))
    listed = visitor.look("/console/jobs")
    assert listed.all("a", href=f"/console/jobs/{jobs['open']}") != []
    assert listed.all("a", href=f"/console/jobs/{jobs['secret']}") == []
    assert visitor.look(f"/console/jobs/{jobs['open']}").status == 200
    for hidden in (f"/console/jobs/{jobs['secret']}", "/console/collections/secret", "/console/jobs/" + "0" * 32):
        page = visitor.look(hidden)
        assert page.status == 404
        assert "secret" not in page.text
    for page_of_operators in ("/console/dead", "/console/providers", "/console/workers"):
        assert visitor.look(page_of_operators).status == 403
    acted = visitor.send("/console/dead", do="drop", job=jobs["dead"])
    assert acted.status_code == 403


def test_a_session_counts_in_the_console_only_and_ends_with_its_key(
    visitor: Visitor, keyring: Keyring, jobs: dict[str, str]
) -> None:
    key = signed_in(visitor, keyring, "*", scopes=(Scope.OPERATE, Scope.SEARCH))
    assert visitor.look("/console/dead").status == 200
    assert visitor.http.get("/v1/jobs").status_code == 401
    keyring.revoke(key)
    assert visitor.look("/console/dead").all("input", name="key") != []


def test_signing_out_ends_the_session(visitor: Visitor, keyring: Keyring) -> None:
    signed_in(visitor, keyring, "*", scopes=(Scope.OPERATE,))
    kept = dict(visitor.http.cookies)
    visitor.send("/console/sign-out", token=visitor.token("/console/workers"))
    visitor.http.cookies.update(kept)
    assert visitor.look("/console/workers").all("input", name="key") != []


def test_forms_of_others_do_nothing(visitor: Visitor, keyring: Keyring, jobs: dict[str, str]) -> None:
    signed_in(visitor, keyring, "*", scopes=(Scope.OPERATE, Scope.SEARCH))
    at, token = f"/console/jobs/{jobs['open']}/cancel", visitor.token("/console/jobs")
    assert visitor.send(at, token="").status_code == 403
    assert visitor.send(at, token="0" * 32).status_code == 403
    assert visitor.send(at, token=token, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert visitor.send(at, token=token, headers={"Origin": "https://evil.example"}).status_code == 403
    assert "cancelled" not in visitor.look(f"/console/jobs/{jobs['open']}").text


def test_a_beginning_of_an_id_leads_to_its_job(visitor: Visitor, keyring: Keyring, jobs: dict[str, str]) -> None:
    signed_in(visitor, keyring, "open", scopes=(Scope.SEARCH,))
    found = visitor.http.get(f"/console/jobs/{jobs['open'][:12]}")
    assert found.headers["location"] == f"/console/jobs/{jobs['open']}"
    assert visitor.look(f"/console/jobs/{jobs['secret'][:12]}").status == 404


def test_a_dead_job_is_dropped_only_after_a_question(visitor: Visitor, keyring: Keyring, guarded: Settings) -> None:
    with closing(ValkeyBoard.connect(guarded)) as board:
        asked = ReportSearch(query=uuid4().hex, collection="open", deadline=500)
        job_id, _ = board.submit(asked)
        board.settle(job_id, Verdict("dead", reason="given up"))
        signed_in(visitor, keyring, "*", scopes=(Scope.OPERATE,))
        token = visitor.token("/console/dead")
        question = visitor.send("/console/dead", token=token, do="ask", job=job_id)
        assert "deleted for good" in question.text
        assert job_id in board.dead()
        done = visitor.send("/console/dead", token=token, do="drop", job=job_id)
        assert done.headers["location"] == "/console/dead?done=drop&number=1"
        assert job_id not in board.dead()


def test_the_fleet_is_shown_to_operators(console: GatewayHere, keyring: Keyring) -> None:
    def ask(*scopes: Scope) -> httpx.Response:
        _, written = keyring.add("ops", scopes=scopes, collections=("*",))
        return httpx.get(f"{console.url}/v1/fleet", headers={"Authorization": f"Bearer {written}"}, timeout=PATIENCE_S)

    assert ask(Scope.SEARCH).status_code == 403
    assert {"workers", "queues", "providers", "counts"} <= ask(Scope.OPERATE).json().keys()


def test_files_may_be_kept_for_ever_and_pages_not_at_all(console: GatewayHere) -> None:
    with httpx.Client(base_url=console.url, timeout=PATIENCE_S) as http:
        page = http.get("/console/sign-in")
        assert page.headers["Cache-Control"] == "no-store"
        (style,) = read_page(page.text, page.headers).all("link", rel="stylesheet")
        sheet = http.get(str(style["href"]))
        assert sheet.headers["Cache-Control"] == "max-age=31536000, immutable"
        assert http.get("/console/static/x/gate.py").status_code == 404


def test_a_board_that_is_away_is_a_page_too() -> None:
    with GatewayHere(Settings(redis_url="redis://127.0.0.1:1/0")) as gateway:
        found = httpx.get(f"{gateway.url}/console", timeout=PATIENCE_S)
        assert found.status_code == 503
        assert "What workers hold in their hands goes on" in read_page(found.text, found.headers, 503).text


def test_sessions_are_hashes_on_the_board(visitor: Visitor, keyring: Keyring, guarded: Settings) -> None:
    signed_in(visitor, keyring, "*", scopes=(Scope.OPERATE,))
    (session,) = (value for name, value in visitor.http.cookies.items() if name == "qm_console")
    with redis.Redis.from_url(guarded.redis_url, decode_responses=True) as server:
        kept = [key for key in server.scan_iter("*", count=1000) if key != STORED_AT]
        assert any(":console:" in key for key in kept)
        assert not any(session in key for key in kept)
        assert session not in json.dumps([server.get(key) for key in kept if ":console:" in key])
