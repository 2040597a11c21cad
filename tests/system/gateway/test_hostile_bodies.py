"""Bodies that cost their sender little: the gateway serves others meanwhile, and says what it refuses.

How long a body takes is not looked at, because machines differ. What others are answered in the meantime is counted.
"""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import httpx
import pytest

from querymill.gateway.http.intake import REFUSED_BEYOND_GOOD
from querymill_shared.settings import Settings
from tests.fixtures.gateways import PATIENCE_S, GatewayProcess, gateway_process
from tests.fixtures.short_forms import named_at_night

LINES = {"Content-Type": "application/x-ndjson"}
REPORTS = "/v1/collections/hostile/reports"
JOBS = "/v1/jobs"
GOOD = {"title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]}


def good(number: int) -> bytes:
    return json.dumps(GOOD | {"sha1": f"g{number}"}).encode() + b"\n"


@pytest.fixture(scope="module")
def gateway(quiet: Settings) -> Iterator[GatewayProcess]:
    """A process of its own: what it does with its time is its own."""
    with gateway_process({"REDIS_URL": quiet.redis_url}) as started:
        yield started


@pytest.fixture
def http(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as client:
        yield client


class Neighbour:
    """Asks the gateway whether it lives, all the time, and knows the longest silence."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.answered: list[float] = [time.monotonic()]

    def __enter__(self) -> "Neighbour":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.answered.append(time.monotonic())

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=PATIENCE_S) as http:
            while not self._over.is_set():
                assert http.get("/healthz").status_code == 200
                self.answered.append(time.monotonic())
                time.sleep(0.01)

    @property
    def silences(self) -> list[float]:
        return sorted(later - earlier for earlier, later in pairwise(self.answered))


def silence_share(url: str, send: Callable[[], Any]) -> tuple[Any, float]:
    """Send something. Return the answer, and which share of the time the longest silence was.

    What is over within seconds shows nothing on a busy machine, so it passes.
    """
    with Neighbour(url) as neighbour:
        begun = time.monotonic()
        found = send()
        took = time.monotonic() - begun
    return found, neighbour.silences[-1] / max(took, 3.0)


HOSTILE_LINES = {
    "empty objects": b"{}\n" * 1_000_000,
    "no JSON": b"x\n" * 1_000_000,
    "deep": (b"[" * 2_000 + b"\n") * 1_500,
    "long names": (b'{"' + b"n" * 3_000 + b'":1}\n') * 1_000,
    "long rows of wrong values": (b'{"pages":[' + b"0," * 200_000 + b"0]}\n") * 5,
    "numbers": (b"9" * 5_000 + b"\n") * 600,
    "NULs": b"\0\n" * 1_000_000,
    "carriage returns": b"{}\r\n" * 700_000,
}
BLANKS = {"empty": b"\n" * 3_000_000, "blanks": b" \t \r\n" * 600_000, "one long blank": b" " * 3_000_000 + b"\n"}


@pytest.mark.parametrize("body", named_at_night(HOSTILE_LINES, short=["empty objects", "deep", "numbers"]))
def test_refused_lines_end_an_upload_and_hold_up_nobody(
    gateway: GatewayProcess, http: httpx.Client, body: bytes
) -> None:
    found, share = silence_share(gateway.url, lambda: http.post(REPORTS, content=body, headers=LINES))
    assert found.status_code == 422
    assert found.json()["errors"][0]["field"].startswith("line 1: ")
    assert share < 0.9
    if body.count(b"\n") > 2 * REFUSED_BEYOND_GOOD:
        refused = re.search(r"ended after (\d+) refused lines and 0 good ones", found.json()["detail"])
        assert refused is not None
        assert REFUSED_BEYOND_GOOD < int(refused[1]) <= REFUSED_BEYOND_GOOD + 1


@pytest.mark.parametrize("body", BLANKS.values(), ids=BLANKS)
def test_blank_lines_hold_up_nobody(gateway: GatewayProcess, http: httpx.Client, body: bytes) -> None:
    last = good(1).rstrip()
    found, share = silence_share(gateway.url, lambda: http.post(REPORTS, content=body + b"{}\n" + last, headers=LINES))
    assert (found.status_code, found.json()["accepted"]) == (202, 1)
    assert found.json()["first_rejected"][0]["line"] == body.count(b"\n") + 1
    assert share < 0.9


def test_what_was_good_before_an_upload_ended_is_accepted_and_said(http: httpx.Client) -> None:
    body = b"".join(map(good, range(30))) + b"{}\n" * 10_000 + good(99)
    found = http.post(REPORTS, content=body, headers=LINES)
    assert found.status_code == 422
    assert "30 documents were accepted before" in found.json()["detail"]
    assert "ended after 1031 refused lines and 30 good ones" in found.json()["detail"]


def test_an_upload_with_more_good_lines_than_refused_ones_is_read_to_its_end(http: httpx.Client) -> None:
    rows = [good(number) if number % 2 else b"{}\n" for number in range(3_000)]
    found = http.post(REPORTS, content=b"".join(rows), headers=LINES).json()
    assert (found["accepted"], found["rejected"]) == (1_500, 1_500)


@pytest.mark.nightly
def test_a_body_of_tiny_chunks_holds_up_nobody(gateway: GatewayProcess) -> None:
    body = b" " * 300_000 + b"{}\n"
    chunks = b"".join(b"1\r\n%c\r\n" % each for each in body) + b"0\r\n\r\n"

    def send() -> bytes:
        where = httpx.URL(gateway.url)
        with closing(socket.create_connection((where.host, where.port), PATIENCE_S)) as connection:
            head = f"POST {REPORTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
            return connection.recv(4_096)

    with Neighbour(gateway.url) as neighbour:
        answer = send()
    assert b" 422 " in answer.split(b"\r\n")[0]
    # A gateway that takes apart all that has come before it looks at others answers five times.
    assert len(neighbour.answered) > 15


HOSTILE_JSON: dict[str, tuple[str, bytes]] = {
    "hits": (JOBS, b'{"kind":"rerank","collection":"a","query":"x","hits":[' + b"0," * 1_500_000 + b"0]}"),
    "reports": (
        JOBS,
        b'{"kind":"ingest_reports","collection":"a","documents":[%s0]}' % (b'{"pages":[{},{},{}]},' * 200_000),
    ),
    "files": (
        JOBS,
        b'{"kind":"compare_files","collection":"a","files":{%s}}' % b",".join(b'"a%d":0' % n for n in range(400_000)),
    ),
    "messages": ("/v1/chat/completions", b'{"model":"a","messages":[' + b"0," * 1_500_000 + b"0]}"),
    "chat": ("/api/chat/vectors", b'{"collection":"a","query":"x","filter":[' + b"0," * 1_500_000 + b"0]}"),
    "deep": (JOBS, b"[" * 3_000_000),
}


@pytest.mark.parametrize(("path", "body"), named_at_night(HOSTILE_JSON, short=["hits", "deep"]))
def test_json_that_breaks_a_rule_in_a_million_places_holds_up_nobody(
    gateway: GatewayProcess, http: httpx.Client, path: str, body: bytes
) -> None:
    media = {"Content-Type": "application/json"}
    found, share = silence_share(gateway.url, lambda: http.post(path, content=body, headers=media))
    assert found.status_code in (400, 422)
    assert len(found.content) < 10_000
    assert share < 0.9


def test_forms_of_too_many_fields_are_refused(http: httpx.Client) -> None:
    for path in ("/console/sign-in", "/console/theme", "/console/sign-out", "/console/dead"):
        body = "&".join(f"f{number}=x" for number in range(600))
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert http.post(path, content=body, headers=form).status_code == 422


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "POST", "GET"])
def test_a_method_that_a_page_does_not_have_is_405(http: httpx.Client, method: str) -> None:
    takes = {
        "/console": "GET", "/console/jobs": "GET", "/console/sign-in": "GET, POST", "/console/sign-out": "POST",
        f"/console/jobs/{'0' * 32}/cancel": "POST", "/console/static/x/console.css": "GET",
    }  # fmt: skip
    for path, methods in takes.items():
        if method not in methods and not (method == "GET" and path == "/console/sign-out"):
            found = http.request(method, path)
            assert found.status_code == 405, path
            assert set(methods.split(", ")) <= set(found.headers["allow"].split(", "))
