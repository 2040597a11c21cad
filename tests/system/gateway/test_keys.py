"""Who may what: keys, scopes, collections, limits; made, rotated and revoked while the gateway runs."""

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import redis
from typer.testing import CliRunner

from querymill import Querymill, ReportSearch
from querymill.cli.main import app
from querymill.keys import STORED_AT, USES_AT, KeyIsExpired, Keyring, Scope, UnknownKey
from querymill_shared.board import ValkeyBoard
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import (
    PATIENCE_S,
    GatewayHere,
    bearer,
    keys_on,
    read_stream,
)
from tests.fixtures.tallies import until

WHO_MAY = (Scope.SEARCH, Scope.INGEST, Scope.DELETE, Scope.OPERATE)


@pytest.fixture(scope="module")
def own(deployment: Deployment) -> Deployment:
    """The deployment on a board of its own, whose gateway needs keys."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/4"
    settings = deployment.settings.model_copy(update={"redis_url": url})
    return Deployment(settings, deployment.environment | {"REDIS_URL": url})


@pytest.fixture(scope="module")
def keyring(own: Deployment) -> Iterator[Keyring]:
    with keys_on(own.settings) as keyring:
        yield keyring


@pytest.fixture(scope="module")
def guarded(own: Deployment, keyring: Keyring) -> Iterator[GatewayHere]:
    """A gateway that has keys."""
    bearer(keyring, "*")
    with GatewayHere(own.settings) as gateway:
        yield gateway


@pytest.fixture
def http(guarded: GatewayHere) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def board(own: Deployment) -> Iterator[ValkeyBoard]:
    board = ValkeyBoard.connect(own.settings)
    board.add_collections("reports", ["mine", "theirs"])
    board.add_collections("messages", ["mine", "theirs"])
    yield board
    board.close()


def search(collection: str, query: str = "how many ships") -> dict[str, object]:
    return {"kind": "reports", "query": query, "collection": collection, "deadline": 600}


def test_without_a_valid_key_nothing_is_answered(http: httpx.Client, keyring: Keyring) -> None:
    (header,) = bearer(keyring, "mine").values()
    wrong = header[:-1] + ("A" if header[-1] != "A" else "B")
    for given in (
        {},
        {"Authorization": wrong},
        {"Authorization": "Bearer x"},
        {"Authorization": f"Basic {header[7:]}"},
    ):
        found = http.get("/v1/jobs", headers=given)
        assert (found.status_code, found.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert found.json()["type"] == "/problems/unauthorized"
    assert http.get("/v1/jobs", headers={"Authorization": header}).status_code == 200
    assert http.get("/healthz").status_code == http.get("/readyz").status_code == 200
    assert http.get("/").headers["location"] == "/console"


def test_a_key_that_has_expired_says_so_and_nothing_to_others(
    http: httpx.Client, keyring: Keyring, guarded: GatewayHere
) -> None:
    key, written = keyring.add("web", scopes=[Scope.SEARCH], collections=["mine"], expires=time.time() + 3_600)
    header = {"Authorization": f"Bearer {written}"}
    assert http.get("/v1/jobs", headers=header).status_code == 200
    ended = key.model_copy(update={"expires": 1_795_000_000.0 - 86_400 * 300})
    keyring._store(ended.model_copy(update={"secrets": tuple(
        each.model_copy(update={"until": ended.expires}) for each in key.secrets)}))  # fmt: skip
    found = http.get("/v1/jobs", headers=header)
    assert found.status_code == 401
    assert found.json()["detail"].startswith("the key expired on 2026-01-22 at ")
    assert found.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    other = {"Authorization": f"Bearer {written[:-1]}{'A' if written[-1] != 'A' else 'B'}"}
    assert "expired" not in http.get("/v1/jobs", headers=other).text
    with pytest.raises(KeyIsExpired):
        keyring.rotate(key.id)
    _, renewed = keyring.rotate(key.id, expires=time.time() + 60)
    assert http.get("/v1/jobs", headers={"Authorization": f"Bearer {renewed}"}).status_code == 200


def test_the_last_use_of_a_key_is_noted_once_a_minute(http: httpx.Client, keyring: Keyring, own: Deployment) -> None:
    key, written = keyring.add("web", scopes=[Scope.SEARCH], collections=["mine"])
    never, _ = keyring.add("spare", scopes=[Scope.SEARCH], collections=["mine"])
    with redis.Redis.from_url(own.settings.redis_url) as server:
        for _ in range(3):
            http.get("/v1/jobs", headers={"Authorization": f"Bearer {written}"})
        assert time.time() - keyring.uses()[key.id] < 120
        assert never.id not in keyring.uses()
        server.hset(USES_AT, key.id, "7")  # what another gateway wrote; this one writes again in the next minute
        http.get("/v1/jobs", headers={"Authorization": f"Bearer {written}"})
        assert keyring.uses()[key.id] == 7 * 60 or time.time() % 60 < 5
    environment = own.environment | {"COLUMNS": "200"}
    rows = {
        line.split()[0]: line for line in CliRunner().invoke(app, ["keys", "list"], env=environment).output.splitlines()
    }
    assert "1970-01-01 00:07" in rows[key.id] or time.time() % 60 < 5
    assert "never" in rows[never.id]


def test_a_scope_that_is_missing_is_named(http: httpx.Client, keyring: Keyring, board: ValkeyBoard) -> None:
    with_search, with_ingest = bearer(keyring, "mine"), bearer(keyring, "mine", scopes=(Scope.INGEST,))
    lines = {"Content-Type": "application/x-ndjson"}
    refused = [
        (http.post("/v1/collections/mine/reports", content=b"{}", headers=with_search | lines), "needs scope ingest"),
        (http.delete("/v1/collections/mine/reports/a1", headers=with_search), "needs scope delete"),
        (http.get("/metrics", headers=with_search), "needs scope operate"),
        (http.post("/v1/jobs", json=search("mine"), headers=with_ingest), "needs scope search"),
    ]
    for found, said in refused:
        assert (found.status_code, found.json()["detail"]) == (403, said)


def test_a_collection_of_another_is_answered_as_one_that_there_is_not(
    http: httpx.Client, keyring: Keyring, board: ValkeyBoard
) -> None:
    mine = bearer(keyring, "mine", scopes=WHO_MAY)

    def bodies(collection: str, job_id: str) -> list[tuple[int, dict[str, object]]]:
        at = f"/v1/collections/{collection}/reports"
        found = [
            http.post("/v1/jobs", json=search(collection), headers=mine),
            http.post("/api/chat/vectors", json={"query": "x", "collection": collection}, headers=mine),
            http.get(at, headers=mine),
            http.get(f"{at}/a1", headers=mine),
            http.delete(f"{at}/a1", headers=mine),
            http.delete(at, params={"all": True}, headers=mine),
            http.get(f"/v1/jobs/{job_id}", headers=mine),
            http.get(f"/v1/jobs/{job_id}/result", headers=mine),
            http.get(f"/v1/jobs/{job_id}/events", headers=mine),
            http.delete(f"/v1/jobs/{job_id}", headers=mine),
        ]
        return [(each.status_code, each.json() | {"request_id": ""}) for each in found]

    job_id, _ = board.submit(ReportSearch(query="of another", collection="theirs", deadline=600))
    of_another = bodies("theirs", job_id)
    assert of_another == bodies("nowhere", "0" * 32)
    assert {status for status, _ in of_another} == {404}
    assert board.picture(job_id).record.state == "queued"
    assert "theirs" not in json.dumps(of_another)
    lines = {"Content-Type": "application/x-ndjson"}
    assert http.post("/v1/collections/theirs/reports", content=b"{}", headers=mine | lines).status_code == 404
    assert job_id not in http.get("/v1/jobs", headers=mine).text
    assert "theirs" not in http.get("/v1/collections", headers=mine).text


def test_the_same_idempotency_key_of_two_keys_leads_to_two_jobs(
    http: httpx.Client, keyring: Keyring, board: ValkeyBoard
) -> None:
    def send(key: dict[str, str], query: str) -> httpx.Response:
        return http.post("/v1/jobs", json=search("mine", query), headers=key | {"Idempotency-Key": "turn-1"})

    one, other = bearer(keyring, "mine"), bearer(keyring, "mine")
    assert send(one, "first").status_code == send(other, "second").status_code == 202
    assert send(one, "first").headers["Idempotent-Replayed"] == "true"


def test_a_key_is_rotated_and_revoked_while_the_gateway_runs(http: httpx.Client, keyring: Keyring) -> None:
    key, written = keyring.add("rotated", scopes=[Scope.SEARCH], collections=["mine"])

    def status(written: str) -> int:
        return http.get("/v1/jobs", headers={"Authorization": f"Bearer {written}"}).status_code

    _, newer = keyring.rotate(key.id, grace_s=600)
    assert (status(written), status(newer)) == (200, 200)
    _, newest = keyring.rotate(key.id, grace_s=0)
    assert (status(written), status(newer), status(newest)) == (401, 401, 200)
    keyring.revoke(key.id)
    assert status(newest) == 401


def test_the_rate_of_a_key_is_said_and_kept(http: httpx.Client, keyring: Keyring) -> None:
    key = bearer(keyring, "mine", requests_per_minute=5)
    found = [http.get("/v1/jobs", headers=key) for _ in range(6)]
    assert [each.status_code for each in found] == [200] * 5 + [429]
    assert found[0].headers["RateLimit-Policy"] == '"requests";q=5;w=60'
    assert found[0].headers["RateLimit"].startswith('"requests";r=4;t=')
    assert found[5].json()["type"] == "/problems/rate"
    assert int(found[5].headers["Retry-After"]) >= 1


def test_what_waits_takes_a_place_of_its_key(http: httpx.Client, keyring: Keyring, board: ValkeyBoard) -> None:
    key = bearer(keyring, "mine", concurrency=1)
    job_id = http.post("/v1/jobs", json=search("mine", "waited for"), headers=key).json()["job_id"]
    at = f"/v1/jobs/{job_id}/events"
    with http.stream("GET", at, headers=key) as answer:
        events = read_stream(answer.iter_lines())
        assert next(events).type == "queued"
        second = http.get(at, headers=key)
        assert (second.status_code, second.json()["type"]) == (429, "/problems/concurrency")
        assert http.get("/v1/jobs", headers=key).status_code == 200
    until(
        lambda: http.get(f"/v1/jobs/{job_id}/result", params={"wait": 0.01}, headers=key).status_code != 429,
        within_s=PATIENCE_S,
    )


def test_a_key_has_a_default_collection_for_the_compatible_route(
    http: httpx.Client, keyring: Keyring, board: ValkeyBoard
) -> None:
    with_default = bearer(keyring, "mine", default_collection="mine")
    asked = {"query": "rain", "deadline": 0.2}
    # No worker listens here: the deadline ends the job.
    assert http.post("/api/chat/vectors", json=asked, headers=with_default).status_code in (200, 424, 504)
    without = http.post("/api/chat/vectors", json=asked, headers=bearer(keyring, "mine"))
    assert (without.status_code, without.json()["errors"][0]["field"]) == (422, "collection")


def test_every_write_leaves_a_line_without_text(
    http: httpx.Client, keyring: Keyring, board: ValkeyBoard, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "querymill.audit")
    key = bearer(keyring, "mine", scopes=WHO_MAY)
    line = {"sha1": "a1", "title": "Nordhav", "company": "Nordhav", "pages": [{"page": 1, "text": "UNSPEAKABLE"}]}
    lines = {"Content-Type": "application/x-ndjson"}
    http.post("/v1/collections/mine/reports", content=json.dumps(line), headers=key | lines)
    job = http.post("/v1/jobs", json=search("mine", "UNSPEAKABLE"), headers=key).json()["job_id"]
    http.delete(f"/v1/jobs/{job}", headers=key)
    noted = [json.loads(line) for line in caplog.messages if line.startswith("{")]
    of_key = [entry for entry in noted if entry["key"] == key["Authorization"][10:22]]
    assert [entry["action"] for entry in of_key] == ["ingest", "cancel"]
    assert all(entry["at"] and entry["request_id"] for entry in of_key)
    assert "UNSPEAKABLE" not in caplog.text


def test_a_key_that_is_made_closes_a_gateway_that_was_open(deployment: Deployment) -> None:
    url = deployment.settings.redis_url.removesuffix("/2") + "/5"
    settings = deployment.settings.model_copy(update={"redis_url": url})
    with (
        GatewayHere(settings) as gateway,
        httpx.Client(base_url=gateway.url) as client,
        keys_on(settings) as keyring,
    ):
        assert client.get("/v1/jobs").status_code == 200
        key = bearer(keyring, "mine")
        assert client.get("/v1/jobs").status_code == 401
        assert client.get("/v1/jobs", headers=key).status_code == 200


def test_the_first_key_says_that_every_request_needs_one_from_now_on(own: Deployment) -> None:
    def add(name: str) -> str:
        words = ["keys", "add", name, "--collection", "mine"]
        return CliRunner().invoke(app, words, env={"REDIS_URL": own.settings.redis_url}).stderr

    with redis.Redis.from_url(own.settings.redis_url) as client:
        client.delete(STORED_AT)
    assert "ask everybody for one" in add("first")
    assert "ask everybody for one" not in add("second")


def test_the_command_makes_lists_rotates_and_revokes(own: Deployment, keyring: Keyring, http: httpx.Client) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["keys", *words], env={"REDIS_URL": own.settings.redis_url})

    def status(key: str) -> int:
        return http.get("/v1/jobs", headers={"Authorization": f"Bearer {key}"}).status_code

    made = json.loads(run("add", "web", "--scope", "search", "--collection", "mine", "--json").stdout)
    assert (made["scopes"], status(made["key"])) == (["search"], 200)
    assert made["id"] in run("list").stdout
    assert made["key"][-43:] not in run("list", "--json").stdout
    rotated = json.loads(run("rotate", made["id"], "--grace", "0", "--json").stdout)
    assert (status(made["key"]), status(rotated["key"])) == (401, 200)
    assert "is revoked" in run("revoke", made["id"]).stdout
    assert status(rotated["key"]) == 401
    assert run("add", "nothing").exit_code == 2
    assert isinstance(run("revoke", "0" * 12).exception, UnknownKey)


def test_the_board_holds_no_secret(own: Deployment, keyring: Keyring, mill: Querymill) -> None:
    _, written = keyring.add("secret", scopes=[Scope.SEARCH], collections=["*"])
    with redis.Redis.from_url(own.settings.redis_url, decode_responses=True) as server:
        stored = server.hgetall("qm:keys")
    assert not [text for text in stored.values() if written[-43:] in text]
