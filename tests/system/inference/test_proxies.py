"""Calls through the environment's proxies, with real proxies, and around them."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.chat import OpenAIChat
from querymill_workers.inference.client import NoResponse, Rejected, open_client
from querymill_workers.inference.http_judge import open_endpoint, post
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer
from tests.fakes.socks import socks_proxy
from tests.fixtures.inference import Provider

TURNS = [ChatTurn(role="user", content="how many ships?")]
#: No name server knows it: a proxy does.
ELSEWHERE = "http://models.provider.invalid/v1"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def chat_at(url: str) -> str:
    with open_client(url, "k", timeout_s=10) as client:
        endpoint = OpenAIChat(client, "m")
        return endpoint.ask(TURNS, endpoint.options(50, None), 10).value


def rerank_at(url: str) -> str:
    with open_endpoint(url, "k") as client:
        return post(client, f"{url}/rerank", {"query": "x"}, limit_s=10)[0].decode()


@pytest.fixture
def replies(openai_server: OpenAIServer) -> OpenAIServer:
    openai_server.script.chat = lambda body: chat_answer("nine ships")
    openai_server.script.rerank = lambda body: Answer(b"nine ships")
    return openai_server


WAYS = {"chat": chat_at, "rerank": rerank_at}


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize(
    "proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:9", "socks4://127.0.0.1:9", "nonsense:nonsense"]
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_is_asked_directly(
    replies: OpenAIServer, monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], str], proxy: str, host: str
) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, proxy)
    assert ask(replies.url.replace("127.0.0.1", host)) == "nine ships"


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_an_address_elsewhere_is_asked_through_an_http_proxy(
    replies: OpenAIServer, monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], str], name: str
) -> None:
    # A request to an HTTP proxy has the whole address in its first line. This server answers it all the same.
    monkeypatch.setenv(name, f"http://user:password@127.0.0.1:{urlsplit(replies.url).port}")
    assert ask(ELSEWHERE) == "nine ships"
    assert replies.requests[0][0].startswith(ELSEWHERE)


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_an_address_elsewhere_is_asked_through_a_socks_proxy(
    replies: OpenAIServer, monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], str], scheme: str
) -> None:
    with socks_proxy(("127.0.0.1", urlsplit(replies.url).port or 0)) as (port, named):
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:{port}")
        assert ask(ELSEWHERE) == "nine ships"
    assert named == ["models.provider.invalid"]


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize(
    "proxy",
    ["socks4://u:HUNTER@127.0.0.1:9", "ftp://127.0.0.1", "http://127.0.0.1:99999", "http://[::1", "http://a b:1"],
)
def test_a_proxy_that_cannot_be_used_costs_the_calls_to_its_address(
    replies: OpenAIServer, monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], str], proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(Rejected, match=r"^ALL_PROXY: ") as caught:
        ask(ELSEWHERE)
    assert "HUNTER" not in str(caught.value)
    assert ask(replies.url) == "nine ships"


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("proxy", ["http://user:HUNTER@127.0.0.1:9", "socks5://user:HUNTER@127.0.0.1:9"])
def test_a_proxy_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], str], proxy: str
) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    with pytest.raises(NoResponse, match="no connection through the proxy") as caught:
        ask(ELSEWHERE)
    assert "all_proxy: " in str(caught.value)
    assert "HUNTER" not in str(caught.value)


def test_a_step_whose_proxy_cannot_be_used_fails_with_the_remedy_and_is_not_repeated(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks4://127.0.0.1:9")
    away = Provider(provider.client, ELSEWHERE, provider.fleet_counters, provider.opened)
    caller = Caller("c", Lane.INTERACTIVE, time.monotonic() + 60)
    with pytest.raises(Refused, match=r"embedding rejected: HTTP_PROXY: must begin with .*; write socks5://"):
        away.embeddings().embed(["nine ships"], input_type="query", caller=caller)
