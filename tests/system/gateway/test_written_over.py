"""Another program's writes over what the gateway keeps on the board: they cost that, and refuse no request."""

import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis

from querymill.keys import Keyring, Scope, parts_of
from querymill_shared.board import ValkeyBoard, Verdict, keys
from querymill_shared.board.jobs_of_batch import BATCHES, batch_key
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.costs import BUDGETS, purse_key
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on

FAR = "9e15"
LINE = '{"sha1": "a1", "title": "t", "company": "N", "pages": [{"page": 1, "text": "ships"}]}\n'


@pytest.fixture(scope="module")
def own(deployment: Deployment) -> Settings:
    """A board of its own, whose gateway needs keys."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/4"
    return deployment.settings.model_copy(update={"redis_url": url})


@pytest.fixture(scope="module")
def keyring(own: Settings) -> Iterator[Keyring]:
    with keys_on(own) as keyring:
        yield keyring


@pytest.fixture(scope="module")
def guarded(own: Settings, keyring: Keyring) -> Iterator[httpx.Client]:
    """A client of a gateway that has keys."""
    bearer(keyring, "*")
    with GatewayHere(own) as gateway, httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def server(own: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(own.redis_url) as server:
        yield server


def gate_of(key: Mapping[str, str], name: str) -> str:
    key_id, _ = parts_of(key["Authorization"].removeprefix("Bearer ")) or ("", "")
    return f"qm:gate:{{{key_id}}}:{name}"


@pytest.mark.parametrize("back", [0, 1])
@pytest.mark.parametrize("text", ["x", "nan", "-inf", "inf", FAR, "-5", "9" * 18])
def test_requests_are_admitted_whatever_was_written_over_their_count(
    guarded: httpx.Client, keyring: Keyring, server: Any, text: str, back: int
) -> None:
    key = bearer(keyring, "mine", requests_per_minute=50)
    for _ in range(2):
        server.hset(gate_of(key, "windows"), str(int(time.time() // 60) - back), text)
        found = guarded.get("/v1/jobs", headers=key)
        assert found.status_code == 200
        assert int(found.headers["RateLimit"].split("r=")[1].split(";")[0]) in (48, 49)


def test_requests_are_admitted_and_counted_when_all_counts_were_written_over(
    guarded: httpx.Client, keyring: Keyring, server: Any
) -> None:
    key = bearer(keyring, "mine", requests_per_minute=2)
    server.set(gate_of(key, "windows"), "x")
    assert [guarded.get("/v1/jobs", headers=key).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    "written", [("SET", "x"), ("ZADD", FAR, "rubbish"), ("ZADD", "inf", "rubbish"), ("HSET", "a", "b")]
)
def test_requests_wait_whatever_was_written_over_the_places_of_their_key(
    guarded: httpx.Client, keyring: Keyring, server: Any, own: Settings, written: tuple[str, ...]
) -> None:
    board = ValkeyBoard.connect(own)
    board.add_collections("reports", ["mine"])
    board.close()
    key = bearer(keyring, "mine", concurrency=1, scopes=(Scope.SEARCH,))
    asked = {"kind": "reports", "query": uuid4().hex, "collection": "mine", "deadline": 600}
    job = guarded.post("/v1/jobs", json=asked, headers=key).json()["job_id"]
    command, *rest = written
    server.execute_command(command, gate_of(key, "places"), *rest)
    for _ in range(2):
        waited = guarded.get(f"/v1/jobs/{job}/result", params={"wait": 0.01}, headers=key)
        assert waited.status_code == 202


@pytest.mark.parametrize("place", ["budgets", "purse", "spent"])
def test_questions_are_taken_whatever_was_written_over_budgets(
    guarded: httpx.Client, keyring: Keyring, server: Any, place: str
) -> None:
    key = bearer(keyring, "mine")
    key_id, _ = parts_of(key["Authorization"].removeprefix("Bearer ")) or ("", "")
    server.delete(BUDGETS, purse := purse_key(int(time.time() * 1000)))
    keyring.set_budget(key_id, 1_000)
    if place == "spent":
        server.hset(purse, f"spent/{key_id}", "x")
    else:
        server.delete(name := BUDGETS if place == "budgets" else purse)
        server.set(name, "x")
    asked = {"kind": "reports", "query": uuid4().hex, "collection": "mine", "deadline": 600}
    taken = guarded.post("/v1/jobs", json=asked, headers=key)
    server.delete(BUDGETS, purse)
    assert taken.status_code == 202


@pytest.fixture
def shelf(quiet: Settings) -> Iterator[redis.Redis]:
    """The board where batches are kept, without any."""
    with redis.Redis.from_url(quiet.redis_url) as server:
        for key in (BATCHES, *server.scan_iter("qm:*:batch:*")):
            server.delete(key)
        yield server


FOREIGN = "a" * 32
#: What is written: a command, the key, and the rest.
OVER: Mapping[str, tuple[str | bytes, ...]] = {
    "the list": ("SET", BATCHES, "x"),
    "a batch that is a word": ("ZADD", BATCHES, FAR, "rubbish"),
    "a batch of bytes": ("ZADD", BATCHES, FAR, b"\xff"),
    "a batch of nothing": ("ZADD", BATCHES, FAR, b""),
    "a text that is a word": ("SET", batch_key(FOREIGN), "rubbish"),
    "a text of bytes": ("SET", batch_key(FOREIGN), b"\xff\xfe"),
    "a text that says nothing": ("SET", batch_key(FOREIGN), "{}"),
    "a text that lists": ("SET", batch_key(FOREIGN), "[]"),
    "a text of another type": ("RPUSH", batch_key(FOREIGN), "{}"),
}


def upload(http: httpx.Client) -> httpx.Response:
    media = {"Content-Type": "application/x-ndjson"}
    return http.post("/v1/collections/mine/reports", content=LINE, headers=media)


KEPT = {"kind": "reports", "collection": "mine", "jobs": [], "rejected": 0, "first_rejected": [], "is_open": False}


@pytest.mark.parametrize("written", OVER.values(), ids=OVER)
def test_uploads_and_their_pages_go_on_whatever_was_written_over_batches(
    quiet_http: httpx.Client, shelf: Any, written: tuple[str | bytes, ...]
) -> None:
    before = upload(quiet_http)
    shelf.zadd(BATCHES, {FOREIGN: time.time()})
    if written[:2] == ("SET", BATCHES):
        shelf.delete(BATCHES)
    shelf.execute_command(*written)
    pages = ("/console", "/console/ingestions", "/v1/batches/" + FOREIGN)
    assert [quiet_http.get(page).status_code for page in pages] == [200, 200, 404]
    after = upload(quiet_http)
    assert after.status_code == before.status_code
    assert quiet_http.put("/v1/batches/" + "b" * 32, json=KEPT).status_code == 204
    listed = quiet_http.get("/console/ingestions").text
    assert after.json()["batch"] in listed
    assert "b" * 32 in listed
    assert quiet_http.put("/v1/batches/" + FOREIGN, json=KEPT).status_code == 204
    assert quiet_http.get("/v1/batches/" + FOREIGN).status_code == 200


@pytest.mark.parametrize("line", ["a" * 32 + " many", "", "x 1", "a" * 32 + " -1", "\xff 1"])
def test_a_job_that_another_program_wrote_into_a_batch_is_left_out(
    quiet_http: httpx.Client, shelf: Any, line: str
) -> None:
    batch = upload(quiet_http).json()["batch"]
    said = quiet_http.get(f"/v1/batches/{batch}").json()
    shelf.append(batch_key(batch), f"\n{line}")
    assert quiet_http.get(f"/v1/batches/{batch}").json() == said
    assert batch in quiet_http.get("/console/ingestions").text


@pytest.mark.parametrize("result", ["rubbish", "[]", '{"documents": 1}', '{"documents": [{"outcome": "failed"}]}', ""])
def test_the_result_of_a_job_that_was_written_over_hides_no_batch(
    quiet_http: httpx.Client, shelf: Any, board: ValkeyBoard, result: str
) -> None:
    batch = upload(quiet_http).json()["batch"]
    (job_id,) = [line.split()[0].decode() for line in shelf.get(batch_key(batch)).split(b"\n")[1:]]
    board.settle(job_id, Verdict("done", result='{"documents": []}'))
    record, stored = keys.of_job(job_id, "job", "result")
    shelf.hset(record, "lacks", "documents")
    shelf.delete(stored)
    if result:
        shelf.set(stored, result)
    else:
        shelf.rpush(stored, "x")
    assert quiet_http.get(f"/v1/batches/{batch}").json()["failed"] == 0
    assert batch in quiet_http.get("/console/ingestions").text


def test_batches_of_the_far_future_push_no_upload_off_the_list(quiet_http: httpx.Client, shelf: Any) -> None:
    shelf.zadd(BATCHES, {f"{place:032x}": FAR for place in range(60)})
    batch = upload(quiet_http).json()["batch"]
    assert shelf.zrange(BATCHES, 0, -1) == [batch.encode()]


@pytest.mark.parametrize("written", OVER.values(), ids=OVER)
def test_a_client_keeps_its_batches_whatever_was_written_over_them(
    board: ValkeyBoard, shelf: Any, written: tuple[str | bytes, ...]
) -> None:
    shelf.execute_command(*written)
    about = KeptBatch.model_validate(KEPT)
    board.shelf().keep(FOREIGN, about)
    assert shelf.zscore(BATCHES, FOREIGN) == pytest.approx(time.time(), abs=60)
    assert shelf.type(batch_key(FOREIGN)) == b"string"
