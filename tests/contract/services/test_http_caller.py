"""Telling addresses over HTTP: receivers that accept, fail, hang, redirect or drip, and names that lead elsewhere."""

import ipaddress
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill_shared.callback_addresses import literal_of
from querymill_workers.inference.carrying import carry
from querymill_workers.services import http_caller
from querymill_workers.services.http_caller import AT_ONCE, HttpCaller, NoTurn
from querymill_workers.services.ports import Answered
from tests.fakes.callback_receiver import (
    CallbackReceiver,
    break_off,
    drip,
    hang,
    status,
    ten_megabytes,
)
from tests.fixtures.certificates import Authority

LOOPBACK = [ipaddress.ip_network("127.0.0.0/8")]
HEADERS = {"webhook-id": "m1"}


@pytest.fixture
def receiver() -> Iterator[CallbackReceiver]:
    with CallbackReceiver() as receiver:
        yield receiver


def tell(receiver: CallbackReceiver, **options: Any) -> Answered:
    return HttpCaller([receiver.origin], [], **options).tell(receiver.url, HEADERS, b"{}")


class Names:
    """Resolves names as a test says, and counts how often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **addresses: list[str]) -> None:
        self.asked: list[str] = []
        known = socket.getaddrinfo

        def resolve(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
            if literal_of(host) is not None:  # a connection to an address asks, too
                return known(host, port, *rest, **more)
            self.asked.append(host)
            found = addresses[host.replace(".", "_")]
            families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in found]
            return [
                (family, socket.SOCK_STREAM, 6, "", (address, port))
                for family, address in zip(families, found, strict=True)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_a_message_is_sent_as_it_is(receiver: CallbackReceiver) -> None:
    answered = HttpCaller([receiver.origin], []).tell(f"{receiver.url}?a=b%20c", HEADERS, b'{"a":1}')
    (told,) = receiver.told
    assert (answered.status, answered.said) == (204, f"{receiver.origin} answered 204 No Content")
    assert (told.path, told.body) == ("/hooks/jobs?a=b%20c", b'{"a":1}')
    assert (told.headers["webhook-id"], told.headers["content-type"]) == ("m1", "application/json")
    assert told.headers["host"] == f"127.0.0.1:{receiver.port}"


def test_what_an_address_answers_is_said(receiver: CallbackReceiver) -> None:
    receiver.answer = status(503, Retry_After="90")
    assert tell(receiver) == Answered(503, f"{receiver.origin} answered 503 Service Unavailable", 90.0)
    receiver.answer = status(410)
    assert tell(receiver).status == 410
    receiver.answer = status(599)
    assert tell(receiver).said == f"{receiver.origin} answered 599"


def test_an_address_that_is_slow_or_breaks_off_has_not_answered(receiver: CallbackReceiver) -> None:
    for answer in (hang, drip):
        receiver.answer = answer
        began = time.monotonic()
        assert tell(receiver, call_s=0.5) == Answered(said=f"{receiver.origin}: no answer in time")
        assert time.monotonic() - began < 5
    receiver.answer = break_off
    assert tell(receiver).status == 0
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    origin = f"http://127.0.0.1:{port}"
    assert HttpCaller([origin], []).tell(origin, {}, b"") == Answered(said=f"{origin}: no connection")


def test_a_redirect_is_not_followed(receiver: CallbackReceiver) -> None:
    with CallbackReceiver() as private:
        receiver.answer = status(307, Location=private.url)
        assert tell(receiver).status == 307
        assert private.told == []


def test_a_long_reply_is_not_read(receiver: CallbackReceiver) -> None:
    receiver.answer = ten_megabytes
    assert tell(receiver).status == 200


def test_no_proxy_is_asked(receiver: CallbackReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    assert tell(receiver).status == 204


def test_what_is_not_listed_is_not_called(receiver: CallbackReceiver) -> None:
    other = HttpCaller(["https://hooks.example"], LOOPBACK)
    assert other.tell(receiver.url, {}, b"") == Answered(
        said=f"{receiver.origin} is not listed in QUERYMILL_CALLBACK_ORIGINS"
    )
    assert receiver.told == []


def test_a_name_that_leads_to_a_private_network_is_not_called(
    receiver: CallbackReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, hooks_example=["127.0.0.1", "::ffff:127.0.0.1"])
    url = f"http://hooks.example:{receiver.port}/jobs"
    refused = HttpCaller([url.removesuffix("/jobs")], []).tell(url, HEADERS, b"{}")
    assert refused == Answered(said="hooks.example is in a network that QUERYMILL_CALLBACK_NETWORKS does not list")
    assert receiver.told == []
    assert HttpCaller([url.removesuffix("/jobs")], LOOPBACK).tell(url, HEADERS, b"{}").status == 204
    assert receiver.told[0].headers["host"] == f"hooks.example:{receiver.port}"


def test_the_address_that_was_checked_is_the_one_that_is_called(
    receiver: CallbackReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second answer would lead elsewhere: the name is resolved once.
    names = Names(monkeypatch, hooks_example=["127.0.0.1"])
    url = f"http://hooks.example:{receiver.port}/jobs"
    assert HttpCaller([url.removesuffix("/jobs")], LOOPBACK).tell(url, HEADERS, b"{}").status == 204
    assert names.asked == ["hooks.example"]


def test_a_host_without_a_connection_at_its_first_address_is_called_at_the_next(
    receiver: CallbackReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, hooks_example=["127.0.0.2", "10.0.0.1", "127.0.0.1"])
    url = f"http://hooks.example:{receiver.port}/jobs"
    assert HttpCaller([url.removesuffix("/jobs")], LOOPBACK).tell(url, HEADERS, b"{}").status == 204


def test_a_certificate_is_that_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    http_caller.authorities.cache_clear()
    Names(monkeypatch, hooks_example=["127.0.0.1"], other_example=["127.0.0.1"])
    try:
        with CallbackReceiver(issued=authority.issue("server", hosts=("hooks.example",))) as receiver:
            for host, expected in (("hooks.example", 204), ("other.example", 0)):
                origin = f"https://{host}:{receiver.port}"
                answered = HttpCaller([origin], LOOPBACK).tell(f"{origin}/jobs", HEADERS, b"{}")
                assert answered.status == expected, answered
            assert answered.said == f"{origin}: its certificate is not trusted"
    finally:
        http_caller.authorities.cache_clear()


def test_addresses_that_hang_leave_the_other_threads_of_a_worker_alone(
    receiver: CallbackReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_caller, "TURN_S", 0.05)
    receiver.answer = hang
    caller = HttpCaller([receiver.origin], [], call_s=30)
    hanging = [carry(lambda: caller.tell(receiver.url, HEADERS, b"{}"), name="t") for _ in range(AT_ONCE)]
    receiver.wait_for(AT_ONCE)
    with pytest.raises(NoTurn) as put_off:
        caller.tell(receiver.url, HEADERS, b"{}")
    assert (put_off.value.cause, put_off.value.again_in_s) == ("pause", 5.0)
    receiver.closing.set()
    for each in hanging:
        each.result(timeout=30)
    receiver.answer = status(204)
    assert caller.tell(receiver.url, HEADERS, b"{}").status == 204
