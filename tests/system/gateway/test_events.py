"""Streams: every event once, in order, whatever happens to the connection, the replica or the reader."""

import json
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis

from querymill import EmbedTexts, Querymill, ReportSearch, Settings, TextToEmbed
from querymill_shared.board import ValkeyBoard, Verdict, keys
from querymill_shared.contracts.events import Progress
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, Received, followed, read_stream


def submitted(board: ValkeyBoard) -> str:
    """A job whose events the test tells."""
    texts = (TextToEmbed(id="a", text=uuid4().hex),)
    return board.submit(EmbedTexts(collection="streams", texts=texts))[0]


def tell(board: ValkeyBoard, job_id: str, done: int) -> None:
    board.append_event(job_id, Progress(stage="embed", done=done, total=1_000))


def told(board: ValkeyBoard, job_id: str) -> list[tuple[str, str]]:
    return [(event_id, event.type) for event_id, event in board.events(job_id)]


def ids(received: list[Received]) -> list[tuple[str, str]]:
    return [(event.id, event.type) for event in received]


def test_a_stream_of_a_real_job_ends_with_it(http: httpx.Client, mill: Querymill, filings: str) -> None:
    job = mill.submit(ReportSearch(query="stream me", collection=filings))
    received = followed(http, job.id)
    assert received[0].type == "queued"
    assert received[-1].data == {"type": "done", "complete": True}
    assert [event.data["type"] for event in received] == [event.type for event in received]
    over = http.get(f"/v1/jobs/{job.id}/events", headers={"Last-Event-ID": received[-1].id})
    assert (over.status_code, over.content) == (204, b"")


def test_a_stream_has_the_ids_of_the_board_and_goes_on_after_any_of_them_on_any_replica(
    quiet_http: httpx.Client, quiet: Settings, board: ValkeyBoard
) -> None:
    job_id = submitted(board)
    for number in range(5):
        tell(board, job_id, number)
    board.settle(job_id, Verdict("failed", reason="the end"))
    received = followed(quiet_http, job_id)
    assert ids(received) == told(board, job_id)
    with GatewayHere(quiet) as other, httpx.Client(base_url=other.url, timeout=PATIENCE_S) as replica:
        for number, event in enumerate(received[:-1], start=1):
            assert followed(replica, job_id, after=event.id) == received[number:]
        assert followed(replica, job_id, after="") == followed(replica, job_id, after="-1") == received
        by_query = replica.get(f"/v1/jobs/{job_id}/events", params={"after": received[-2].id})
        assert ids(list(read_stream(iter(by_query.text.split("\n"))))) == ids(received[-1:])


def test_a_reader_that_drops_again_and_again_sees_every_event_once_in_order(
    quiet_http: httpx.Client, board: ValkeyBoard
) -> None:
    job_id = submitted(board)

    def speak() -> None:
        for number in range(300):
            tell(board, job_id, number)
        board.settle(job_id, Verdict("failed", reason="the end"))

    speaker = threading.Thread(target=speak)
    speaker.start()
    seen: list[Received] = []
    drops = 0
    while not seen or seen[-1].type != "failed":
        seen += some_of(quiet_http, job_id, seen[-1].id if seen else "", 1 + drops % 17)
        drops += 1
    speaker.join()
    assert drops > 20
    assert ids(seen) == told(board, job_id)


def some_of(client: httpx.Client, job_id: str, after: str, most: int) -> list[Received]:
    """Read a few events, and drop the connection in the middle of the stream."""
    at, headers = f"/v1/jobs/{job_id}/events", {"Last-Event-ID": after}
    with client.stream("GET", at, headers=headers) as answer:
        events = read_stream(answer.iter_lines())
        return [event for _, event in zip(range(most), events, strict=False)]


def test_an_event_may_hold_any_separator_of_lines(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    job_id = submitted(board)
    stage = "a\u2028b\u0085c\r\nd"
    board.append_event(job_id, Progress(stage=stage, done=1, total=2))
    board.settle(job_id, Verdict("cancelled"))
    text = quiet_http.get(f"/v1/jobs/{job_id}/events").content.decode()
    (data,) = [line for line in text.split("\n") if '"progress"' in line]
    assert json.loads(data.removeprefix("data: "))["stage"] == stage


def test_what_the_stream_no_longer_holds_is_made_up_for_by_a_snapshot(
    quiet_http: httpx.Client, board: ValkeyBoard, trimming: redis.Redis
) -> None:
    job_id = submitted(board)
    for number in range(3):
        tell(board, job_id, number)
    first, *_, last = told(board, job_id)
    (stream,) = keys.of_job(job_id, "events")
    trimming.xtrim(stream, maxlen=1, approximate=False)
    beyond = "9" * 15 + "-0"
    for after in (first[0], beyond):
        (snapshot,) = some_of(quiet_http, job_id, after, 1)
        assert (snapshot.type, snapshot.id, snapshot.data["state"]) == ("snapshot", last[0], "queued")
    board.settle(job_id, Verdict("cancelled"))
    (snapshot,) = followed(quiet_http, job_id, after=beyond)
    assert (snapshot.type, snapshot.data["job_id"], snapshot.data["state"]) == ("snapshot", job_id, "cancelled")


@pytest.fixture
def trimming(quiet: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(quiet.redis_url) as server:
        yield server


@pytest.mark.parametrize("after", ["abc", "1", "1-x", "0-0-0"])
def test_what_is_no_id_of_an_event_is_400(quiet_http: httpx.Client, board: ValkeyBoard, after: str) -> None:
    found = quiet_http.get(f"/v1/jobs/{submitted(board)}/events", headers={"Last-Event-ID": after})
    assert (found.status_code, found.json()["type"]) == (400, "/problems/event-id")


def test_who_cannot_stream_gets_an_array(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    job_id = submitted(board)
    tell(board, job_id, 1)

    def asked(**parameters: Any) -> httpx.Response:
        accept = {"Accept": "application/json"}
        return quiet_http.get(f"/v1/jobs/{job_id}/events", params=parameters, headers=accept)

    found = asked().json()
    assert [(event["event"], event["data"]["type"]) for event in found] == [("queued",) * 2, ("progress",) * 2]
    board.settle(job_id, Verdict("cancelled"))
    (last,) = asked(after=found[-1]["id"], wait=30).json()
    assert last["event"] == "cancelled"
    assert asked(after=last["id"]).status_code == 204


def test_a_gateway_that_stops_ends_its_streams_and_another_goes_on(quiet: Settings, board: ValkeyBoard) -> None:
    job_id = submitted(board)
    tell(board, job_id, 1)
    with (
        GatewayHere(quiet) as first,
        httpx.Client(base_url=first.url, timeout=PATIENCE_S) as client,
        client.stream("GET", f"/v1/jobs/{job_id}/events") as answer,
    ):
        lines = answer.iter_lines()
        seen = [event for _, event in zip(range(2), read_stream(lines), strict=False)]
        first.ask_to_stop()
        assert [line.partition(":")[0] for line in lines if line] == ["retry"]
    tell(board, job_id, 2)
    board.settle(job_id, Verdict("cancelled"))
    with GatewayHere(quiet) as second, httpx.Client(base_url=second.url, timeout=PATIENCE_S) as client:
        seen += followed(client, job_id, after=seen[-1].id)
    assert ids(seen) == told(board, job_id)


def test_who_waits_when_a_gateway_stops_gets_the_job(quiet: Settings, board: ValkeyBoard) -> None:
    job_id = submitted(board)
    found: list[httpx.Response] = []
    with GatewayHere(quiet) as gateway:

        def wait() -> None:
            found.append(httpx.get(f"{gateway.url}/v1/jobs/{job_id}/result?wait=50", timeout=PATIENCE_S))

        waiter = threading.Thread(target=wait)
        waiter.start()
        gateway.until_waiting(1)
        gateway.ask_to_stop()
        waiter.join()
    assert (found[0].status_code, found[0].json()["job_id"]) == (202, job_id)
