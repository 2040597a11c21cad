"""What callers of a gateway share: however much one of them asks for, another finds a place, and soon."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import httpx
import pytest

from querymill.keys import Keyring, Scope
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.settings import Settings
from tests.fixtures import documents
from tests.fixtures.gateways import PATIENCE_S, GatewayHere

PDF = {"Content-Type": "application/pdf"}
AT = "/v1/collections/uploads/reports"
#: Reading one takes a core for many seconds.
SLOW = documents.heavy_pdf("one", "two", heavy=1, size=60_000_000)


@pytest.fixture
def of_two_keys(quiet: Settings) -> Iterator[tuple[GatewayHere, dict[str, str], dict[str, str]]]:
    """A gateway, and the headers of two callers."""
    settings = quiet.model_copy(update={"querymill_gateway_waiting": 20})
    with closing(Keyring.connect(settings)) as keyring:
        made = [
            keyring.add(name, scopes=[Scope.INGEST, Scope.SEARCH, Scope.OPERATE], collections=["*"])
            for name in ("hasty", "calm")
        ]
        try:
            with GatewayHere(settings) as gateway:
                one, other = ({"Authorization": f"Bearer {written}"} for _, written in made)
                yield gateway, one, other
        finally:
            for key, _ in made:
                keyring.revoke(key.id)


def test_slow_documents_of_a_key_keep_no_document_of_another_out(
    of_two_keys: tuple[GatewayHere, dict[str, str], dict[str, str]],
) -> None:
    gateway, hasty, calm = of_two_keys

    async def flood() -> tuple[httpx.Response, float]:
        async with httpx.AsyncClient(base_url=gateway.url, timeout=PATIENCE_S) as client:
            slow = [asyncio.create_task(client.post(AT, content=SLOW, headers={**hasty, **PDF})) for _ in range(14)]
            await asyncio.sleep(1.0)
            began = time.monotonic()
            answer = await client.post(AT, content=b"sixteen bytes ok", headers={**calm, "Content-Type": "text/plain"})
            took = time.monotonic() - began
            for task in slow:
                task.cancel()
            return answer, took

    answer, took = asyncio.run(flood())
    assert (answer.status_code, took < 5) == (202, True), (answer.text, took)


def test_a_document_whose_caller_has_gone_is_read_no_further(
    of_two_keys: tuple[GatewayHere, dict[str, str], dict[str, str]],
) -> None:
    gateway, hasty, _ = of_two_keys

    async def leave() -> None:
        async with httpx.AsyncClient(base_url=gateway.url, timeout=PATIENCE_S) as client:
            sent = asyncio.create_task(client.post(AT, content=SLOW, headers={**hasty, **PDF}))
            await asyncio.to_thread(gateway.until_waiting, 1)
            sent.cancel()

    asyncio.run(leave())
    began = time.monotonic()
    gateway.until_waiting(0)
    assert time.monotonic() - began < 5


def test_requests_of_a_key_that_wait_keep_none_of_another_out(
    of_two_keys: tuple[GatewayHere, dict[str, str], dict[str, str]], board: ValkeyBoard
) -> None:
    gateway, hasty, calm = of_two_keys
    texts = (TextToEmbed(id="a", text=uuid4().hex),)
    at = f"/v1/jobs/{board.submit(EmbedTexts(collection='shares', texts=texts))[0]}/result"

    async def flood() -> tuple[list[int], int]:
        async with httpx.AsyncClient(base_url=gateway.url, timeout=PATIENCE_S) as client:
            waiting = [asyncio.create_task(client.get(f"{at}?wait=3", headers=hasty)) for _ in range(20)]
            await asyncio.to_thread(gateway.until_waiting, 10)
            found = await client.get(f"{at}?wait=0.1", headers=calm)
            return sorted([answer.status_code for answer in await asyncio.gather(*waiting)]), found.status_code

    assert asyncio.run(flood()) == ([202] * 10 + [503] * 10, 202)
