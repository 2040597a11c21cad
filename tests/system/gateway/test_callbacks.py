"""Callbacks over HTTP: what is refused before anything is enqueued, and what a job says of its callback."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import redis

from querymill.keys import Scope
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.board.keys import CALLBACK_SECRETS
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from querymill_shared.webhooks import written_secret
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, keys_on
from tests.system.gateway.test_jobs import endless

MASTER = b"m" * 32
URL = "https://hooks.example/jobs?token=hunter2"


@pytest.fixture(scope="module")
def called(quiet: Settings) -> Settings:
    """Settings that list an address. They are checked as those of the environment are."""
    fields = {
        "querymill_callback_origins": ["https://hooks.example:443"],
        "querymill_callback_secret": written_secret(MASTER),
    }
    return Settings.model_validate(quiet.model_dump() | fields)


@pytest.fixture(scope="module")
def gateway(called: Settings) -> Iterator[str]:
    with GatewayHere(called) as here:
        yield here.url


def submit(url: str, callback: Any, **headers: str) -> httpx.Response:
    body = endless() | {"callback": callback}
    return httpx.post(f"{url}/v1/jobs", json=body, headers=headers, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("callback", "field", "rule"),
    [
        ({"url": "https://other.example/"}, "callback.url", "not listed in QUERYMILL_CALLBACK_ORIGINS"),
        ({"url": "http://hooks.example/"}, "callback.url", "not listed in QUERYMILL_CALLBACK_ORIGINS"),
        ({"url": "https://hooks.example@10.0.0.1/"}, "callback.url", "without a user"),
        ({"url": "https://hooks.example/", "events": ["started"]}, "callback.events.0", "'done', 'failed'"),
        ({"url": "https://hooks.example/", "events": []}, "callback.events", "at least 1"),
        ({"url": "https://hooks.example/", "secret": "mine"}, "callback.secret", "not permitted"),
    ],
)
def test_a_callback_that_breaks_a_rule_is_refused(
    gateway: str, board: ValkeyBoard, callback: Any, field: str, rule: str
) -> None:
    before = board.recent(limit=1)
    refused = submit(gateway, callback)
    assert refused.status_code == 422
    error, *_ = refused.json()["errors"]
    assert error["field"] == field
    assert rule in error["rule"]
    assert board.recent(limit=1) == before


def test_without_a_list_no_callback_is_taken(quiet_gateway: GatewayHere) -> None:
    refused = submit(quiet_gateway.url, {"url": URL})
    assert refused.status_code == 422
    assert refused.json()["errors"] == [
        {"field": "callback", "rule": "no address may be called: QUERYMILL_CALLBACK_ORIGINS lists none"}
    ]
    assert "hunter2" not in refused.text


def test_a_job_says_whom_its_end_is_told_and_what_became_of_that(gateway: str, board: ValkeyBoard) -> None:
    job_id = submit(gateway, {"url": URL, "events": ["done"]}).json()["job_id"]
    shown = httpx.get(f"{gateway}/v1/jobs/{job_id}")
    expected = {"url": "https://hooks.example:443/…", "events": ["done"], "deliveries": []}
    assert shown.json()["callback"] == expected
    assert "hunter2" not in shown.text
    board.settle(job_id, Verdict("done", result="{}"))
    (due,) = [due for due in board.due() if due.callback]
    delivery = board.submit(EmbedTexts.model_validate(endless()))[0]
    board.called_back(due, job_id=job_id, delivery=delivery)
    before = httpx.get(f"{gateway}/v1/jobs/{job_id}")
    (told,) = before.json()["callback"]["deliveries"]
    assert (told["job_id"], told["state"], told["attempts"], told["next_at"]) == (delivery, "queued", 0, None)
    board.settle(delivery, Verdict("dead", reason="hooks.example answered 500"))
    after = httpx.get(f"{gateway}/v1/jobs/{job_id}", headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200  # its own events are over, but its delivery is not as it was
    (told,) = after.json()["callback"]["deliveries"]
    assert (told["state"], told["reason"]) == ("dead", "hooks.example answered 500")
    page = httpx.get(f"{gateway}/console/jobs/{job_id}")
    assert "hooks.example answered 500" in page.text
    assert "hunter2" not in page.text


def test_a_key_needs_a_secret_of_its_own(called: Settings) -> None:
    with keys_on(called) as keyring, GatewayHere(called) as gateway:
        key, written = keyring.add("backend", scopes=list(Scope), collections=["*"])
        bearer = {"Authorization": f"Bearer {written}"}
        refused = submit(gateway.url, {"url": URL}, **bearer)
        assert refused.status_code == 422
        assert f"querymill keys callback-secret {key.id}" in refused.json()["errors"][0]["rule"]
        secret = keyring.renew_callback_secret(key.id, MASTER)
        assert secret.startswith("whsec_")
        assert secret != keyring.renew_callback_secret(key.id, MASTER)
        assert submit(gateway.url, {"url": URL}, **bearer).status_code == 202
        with redis.Redis.from_url(called.redis_url) as server:
            assert secret.removeprefix("whsec_") not in str(server.hgetall(CALLBACK_SECRETS))
        keyring.revoke(key.id)
        assert submit(gateway.url, {"url": URL}, **bearer).status_code == 401
