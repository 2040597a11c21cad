"""Labels over every way in, found again by them, and former turns superseded: by the same key alone."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import openai
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from querymill.keys import Scope
from querymill_shared.settings import Settings
from tests.fakes.openai_server import OpenAIServer, chat_stream
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on
from tests.fixtures.tallies import until


def turn(query: str, collection: str = "filings", **beside: Any) -> dict[str, Any]:
    return {"kind": "reports", "query": query, "collection": collection, "deadline": 60} | beside


@pytest.fixture(scope="module")
def guarded(deployment: Deployment) -> Iterator[tuple[GatewayHere, dict[str, str]]]:
    """A gateway, and the headers of a key."""
    with keys_on(deployment.settings) as keyring, GatewayHere(deployment.settings) as gateway:
        yield gateway, bearer(keyring, "filings", scopes=(Scope.SEARCH, Scope.INGEST))


def found(client: httpx.Client, headers: dict[str, str], **parameters: Any) -> list[dict[str, Any]]:
    listed = client.get("/v1/jobs", params=parameters, headers=headers)
    assert listed.status_code == 200, listed.text
    return [{"id": job["job_id"], "kind": job["kind"], "labels": job["labels"]} for job in listed.json()["jobs"]]


def test_every_way_in_takes_labels_and_each_job_is_found_by_them(
    guarded: tuple[GatewayHere, dict[str, str]], filings: str, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda _: chat_stream("Revenue rose [1].")
    gateway, mine = guarded
    session = uuid4().hex
    with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as client:
        asked = turn("how many ships", labels={"session": session, "turn": 1})
        headers = mine | {"Idempotency-Key": f"key-{session}"}
        result = client.post("/v1/jobs", params={"wait": 50}, json=asked, headers=headers).json()
        assert result["labels"] == {"session": session, "turn": "1"}
        by_key = found(client, mine, idempotency_key=f"key-{session}")
        assert by_key == [{"id": result["job_id"], "kind": "reports", "labels": result["labels"]}]
        assert found(client, mine, label=[f"session:{session}", "turn:1"]) == by_key
        assert found(client, mine, label=[f"session:{session}", "turn:2"]) == []

        line = b'{"title": "T", "pages": [{"page": 1, "text": "a label"}]}'
        upload = client.post(
            "/v1/collections/filings/reports",
            params={"label": f"session:{session}", "wait": 50}, content=line,
            headers=mine | {"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert upload.status_code == 200
        key = mine["Authorization"].removeprefix("Bearer ")
        with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0, timeout=PATIENCE_S) as chat:
            message: Any = [{"role": "user", "content": "Nordhav 2022: revenue rose to?"}]
            metadata = {"session": session, "no label": "x" * 400}
            chat.chat.completions.create(model="filings", messages=message, user="ada", metadata=metadata)
        asyncio.run(_searched_by_mcp(f"{gateway.url}/mcp", mine, session))
        kinds = sorted(
            (job["kind"], job["labels"].get("user", "")) for job in found(client, mine, label=f"session:{session}")
        )
        assert kinds == [
            ("answer", "ada"), ("ingest_reports", ""), ("reports", ""), ("reports", "ada"), ("reports", "mcp"),
        ]  # fmt: skip


async def _searched_by_mcp(url: str, headers: dict[str, str], session: str) -> None:
    http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S)
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        labels = {"session": session, "user": "mcp"}
        meta: Any = {"querymill/labels": labels}
        assert not (await client.call_tool("search", {"query": "revenue"}, meta=meta)).is_error
        wrong: Any = {"querymill/labels": {"a b": "c"}}
        refused = await client.call_tool("search", {"query": "revenue"}, meta=wrong)
        assert refused.is_error


def test_a_key_supersedes_its_own_turns_alone(quiet: Settings) -> None:
    with keys_on(quiet) as keyring, GatewayHere(quiet) as gateway:
        mine, others = bearer(keyring, "*"), bearer(keyring, "*")
        with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as client:

            def submitted(headers: dict[str, str], collection: str = "filings") -> str:
                asked = {"kind": "embed", "collection": collection, "texts": [{"id": "a", "text": uuid4().hex}]}
                accepted = client.post("/v1/jobs", json=asked | {"supersedes": {"session": "42"}}, headers=headers)
                assert accepted.status_code == 202, accepted.text
                return str(accepted.json()["job_id"])

            def state(job_id: str) -> str:
                return str(client.get(f"/v1/jobs/{job_id}", headers=mine).json()["state"])

            jobs = [submitted(mine), submitted(others), submitted(mine, "elsewhere"), submitted(mine)]
            until(lambda: [state(job_id) for job_id in jobs] == ["cancelled", "queued", "queued", "queued"])
            cancelled = client.get(f"/v1/jobs/{jobs[0]}", headers=mine).json()
            assert cancelled["reason"] == f"superseded by job {jobs[3]}"
            gone = client.get(f"/v1/jobs/{jobs[0]}/result", headers=mine)
            assert (gone.status_code, gone.json()["type"].rsplit("/", 1)[1]) == (410, "job-cancelled")


@pytest.mark.parametrize(
    ("beside", "field"),
    [
        ({"labels": {"a b": "c"}}, "labels"),
        ({"labels": {"a": "one\ntwo"}}, "labels.a"),
        ({"labels": []}, "labels"),
        ({"supersedes": {"a": "1", "b": "2"}}, "supersedes"),
        ({"labels": {"a": "1"}, "supersedes": {"a": "2"}}, "supersedes"),
    ],
)
def test_what_breaks_a_rule_is_refused_before_anything_is_enqueued(
    quiet_http: httpx.Client, beside: dict[str, Any], field: str
) -> None:
    refused = quiet_http.post("/v1/jobs", json=turn("q") | beside)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith(field)
    assert quiet_http.get("/v1/jobs", params={"label": "no colon"}).status_code == 422
