"""MCP with real servers: over HTTP by key and in both eras, and on standard input and output."""

import asyncio
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from querymill.keys import Scope
from querymill_shared.board import ValkeyBoard
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on
from tests.fixtures.tallies import until

QUERY = "Nordhav 2022: revenue rose to?"


@pytest.fixture(scope="module")
def guarded(deployment: Deployment) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """The address of a gateway, and the headers of keys by what they may."""
    with keys_on(deployment.settings) as keyring, GatewayHere(deployment.settings) as gateway:
        keys = {
            "search": bearer(keyring, "filings"),
            "ingest": bearer(keyring, "filings", scopes=(Scope.INGEST,)),
            "elsewhere": bearer(keyring, "elsewhere"),
            "delete": bearer(keyring, "filings", scopes=(Scope.DELETE,)),
        }
        yield f"{gateway.url}/mcp", keys


def asked(
    url: str, headers: dict[str, str], mode: str, *calls: tuple[str, dict[str, Any]]
) -> tuple[list[str], list[str]]:
    """The names of the tools, and what each call returned."""

    async def called() -> tuple[list[str], list[str]]:
        http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S)
        async with http, Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, [text_of(await client.call_tool(name, arguments)) for name, arguments in calls]

    return asyncio.run(called())


def text_of(result: Any) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http_a_key_says_which_tools_and_collections_there_are(
    filings: str, guarded: tuple[str, dict[str, dict[str, str]]], mode: str
) -> None:
    url, keys = guarded
    names, (found, page) = asked(
        url, keys["search"], mode, ("search", {"query": QUERY}), ("read", {"id": "reports:filings/a1#p2"})
    )
    assert names == ["search", "answer", "list", "read"]
    place = "id reports:filings/a1#p2 · score "
    assert place in found
    assert f"{url.removesuffix('/mcp')}/console/collections/filings/reports/a1?page=2" in found
    assert "[page 2]\nrevenue rose to forty million" in page
    assert asked(url, keys["ingest"], mode)[0] == ["ingest"]
    assert asked(url, keys["delete"], mode)[0] == []
    assert asked(url, keys["elsewhere"], mode, ("search", {"query": QUERY}))[1] == [
        "there is no collection that you may use"
    ]
    assert asked(url, keys["elsewhere"], mode, ("read", {"id": "reports:filings/a1"}))[1] == [
        "there is no collection that you may use"
    ]


def test_over_http_the_door_is_that_of_all_routes(guarded: tuple[str, dict[str, dict[str, str]]]) -> None:
    url, keys = guarded
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert httpx.post(url, json=body).status_code == 401
    assert httpx.post(url, json=body, headers=keys["search"] | {"Origin": "https://evil.example"}).status_code == 403
    assert httpx.put(url, json=body, headers=keys["search"]).status_code == 405


def test_on_standard_input_the_given_collections_are_served(filings: str, deployment: Deployment) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from querymill.cli.main import main; main()", "mcp", "--collection", "filings"],
        env=deployment.environment,
    )

    async def called() -> tuple[list[str], str, str]:
        async with Client(command) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            found = text_of(await client.call_tool("search", {"query": QUERY}))
            other = text_of(await client.call_tool("search", {"query": QUERY, "collection": "gateway-chats"}))
            return names, found, other

    names, found, other = asyncio.run(called())
    assert names == ["search", "answer", "list", "read"]
    assert "id reports:filings/a1#p2" in found
    assert other == "no collection 'gateway-chats'; you may use filings"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_is_gone_cancels_its_job(quiet_gateway: GatewayHere, board: ValkeyBoard, mode: str) -> None:
    board.add_collections("reports", ["filings"])
    query = f"who waits for {mode}?"

    def submitted() -> str:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for job_id in board.recent(limit=5):
                if getattr(board.picture(job_id).asked, "query", "") == query:
                    return job_id
            assert time.monotonic() < deadline
            time.sleep(0.02)

    async def left() -> str:
        http = httpx2.AsyncClient(timeout=PATIENCE_S)
        at = f"{quiet_gateway.url}/mcp"
        async with http, Client(streamable_http_client(at, http_client=http), mode=mode) as client:
            # No worker is there: the call would wait until the deadline of its search.
            call = asyncio.create_task(client.call_tool("search", {"query": query, "collection": "filings"}))
            job_id = await asyncio.to_thread(submitted)
            call.cancel()
        return job_id

    job_id = asyncio.run(left())
    until(lambda: board.picture(job_id).record.state == "cancelled", within_s=PATIENCE_S)
    quiet_gateway.until_waiting(0)
