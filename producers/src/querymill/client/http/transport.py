"""Jobs of a client that asks a gateway, from coroutines."""

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import httpx2
from pydantic import ValidationError
from pydantic_core import to_json

from querymill.client.events.waits import BEGINNING
from querymill.client.http.address import Address
from querymill.client.http.exchange import FIRST_PAUSE_S, FOREVER, PATIENCE_S, Exchange
from querymill.client.http.following import Following
from querymill.client.http.pictures import picture_of
from querymill.client.http.problems import error_of, problem_of, retry_after_s
from querymill.client.transport import RETRIEVERS, Accepted, Collections
from querymill_shared.board.picture import Picture
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.contracts.errors import (
    AccessDenied,
    QuerymillError,
    StillRunning,
    TooManyRequests,
    Unavailable,
    UnexpectedReply,
    UnknownCollection,
    UnknownJob,
    UnreadableJob,
    broken_rules,
)
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.jobs import JobRequest, decode_result
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.results import JobResult
from querymill_shared.contracts.search import Search
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.tracing import current_traceparent

#: A request waits for the end of a job this long, in seconds; proxies cut what is silent for a minute.
WAIT_S: Final = 50.0
#: The ids of a page of jobs.
PAGE: Final = 200
_VISIBLE: Final = re.compile(r"[!-~]{1,255}")
#: What it says that a wait is over, in seconds after the time of its caller.
LATE_S: Final = 2.0


class AsyncHttpTransport:
    """Carries jobs through a gateway. See `AsyncTransport`; `HttpTransport` is the same for threads.

    Raises:
        InvalidRequest: The address or the key breaks a rule.
    """

    is_remote: Final = True

    def __init__(self, url: str, api_key: str | None) -> None:
        address = Address(url, api_key)
        self.place = address.url
        self._exchange = Exchange(address)

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._exchange.close()

    async def submit(self, request: JobRequest, options: SubmitOptions) -> Accepted:
        """See `Transport.submit`. A request without a key of its own gets one, so that no cut submits a job twice."""
        own = options.idempotency_key
        headers = {"Idempotency-Key": _fit_for_header(own) if own else uuid4().hex}
        if traceparent := current_traceparent():
            headers["traceparent"] = traceparent
        beside = options.model_dump(include={"labels", "supersedes", "callback"}, exclude_defaults=True)
        body = to_json({**request.model_dump(mode="json"), **beside}) if beside else request.model_dump_json().encode()
        reply = await self._exchange.ask("POST", "/v1/jobs", content=body, headers=headers, taken=frozenset((404,)))
        if reply.status == 404:
            raise await self._no_collection(request, reply.response)
        accepted, is_replayed = reply.body(), "Idempotent-Replayed" in reply.response.headers
        is_own = is_replayed and own is None  # an earlier try of this call led to it
        starts_work = is_own or bool(accepted.get("starts_work", not is_replayed))
        return Accepted(accepted["job_id"], starts_work=starts_work, is_replayed=is_replayed and not is_own)

    async def _no_collection(self, request: JobRequest, response: httpx2.Response) -> QuerymillError:
        named = [each.get("field") for each in problem_of(response).get("errors") or ()]
        if "collection" not in named:
            return error_of(response)
        if not isinstance(request, KindSearch | Search):
            return AccessDenied(f"the key may not see the collection {request.collection!r}")
        known: frozenset[str] = frozenset()
        with suppress(QuerymillError):
            known = frozenset(
                next((names for kind, names in (await self.collections()).items() if kind == request.kind), ())
            )
        return UnknownCollection(request.collection, request.kind, known)

    async def result(self, job_id: str, *, until: float | None) -> JobResult:
        """See `Transport.result`."""
        try:
            async with asyncio.timeout(None if until is None else max(until - time.monotonic(), 0) + LATE_S):
                response = await self._ended(job_id, FOREVER if until is None else until)
        except TimeoutError as error:
            raise StillRunning(job_id) from (None if isinstance(error, StillRunning) else error)
        try:
            return decode_result(response.content)
        except ValidationError as error:
            raise UnreadableJob(job_id, f"this release cannot read its result: {broken_rules(error)}") from error

    async def _ended(self, job_id: str, until: float) -> httpx2.Response:
        """Wait for the end of a job. Once the gateway has answered, its outages are waited out."""
        is_known = False
        while True:
            asked_at = time.monotonic()
            wait_s = min(max(until - asked_at, 0.0), WAIT_S)
            try:
                reply = await self._exchange.ask(
                    "GET", f"{_path(job_id)}/result", job_id=job_id, params={"wait": f"{wait_s:.3f}"}, wait_s=wait_s,
                    patience_s=FOREVER if is_known else PATIENCE_S, until=max(until, asked_at + LATE_S),
                )  # fmt: skip
            except (Unavailable, TooManyRequests) as error:
                if is_known and time.monotonic() + LATE_S >= until:
                    raise StillRunning(job_id) from error
                raise
            if reply.status == 200:
                return reply.response
            is_known, now = True, time.monotonic()
            if now >= until:
                raise StillRunning(job_id)
            if now < asked_at + wait_s / 2:  # it did not wait: it is about to stop
                await asyncio.sleep(min(retry_after_s(reply.response) or FIRST_PAUSE_S, until - now))

    async def events(self, job_id: str, *, after: str | None, until: float | None) -> AsyncGenerator[Event]:
        """See `Transport.events`."""
        async with aclosing(Following(self._exchange, job_id, after or BEGINNING).events()) as source:
            while True:
                try:
                    async with asyncio.timeout(None if until is None else max(until - time.monotonic(), 0)):
                        event = await anext(source, None)
                except TimeoutError as error:
                    raise StillRunning(job_id) from error
                if event is None:
                    return
                yield event

    async def picture(self, job_id: str) -> Picture:
        """See `Transport.picture`."""
        shown = await self._shown(job_id)
        if shown.get("is_gone"):
            raise UnknownJob(job_id)
        return _read(job_id, shown)

    async def trail(self, job_id: str) -> Picture:
        """See `Transport.trail`."""
        picture = _read(job_id, await self._shown(job_id) | {"request": None, "hits": None, "queries": None})
        if not picture.record.is_over:
            raise UnknownJob(job_id)
        return picture

    async def _shown(self, job_id: str) -> dict[str, Any]:
        reply = await self._exchange.ask("GET", _path(job_id), job_id=job_id, params={"hits": "true"})
        return dict(reply.body())

    async def cancel(self, job_id: str) -> bool:
        """See `Transport.cancel`."""
        with suppress(UnknownJob):
            reply = await self._exchange.ask("DELETE", _path(job_id), job_id=job_id)
            found = reply.body()
            return bool(found["cancelled"]) or (reply.is_repeated and found["state"] == "cancelled")
        return False

    async def release(self, job_id: str) -> bool:
        """See `Transport.release`."""
        return await self._act(job_id, "release")

    async def replay(self, job_id: str) -> bool:
        """See `Transport.replay`."""
        return await self._act(job_id, "replay")

    async def drop(self, job_id: str) -> bool:
        """See `Transport.drop`."""
        return await self._act(job_id, "drop")

    async def feedback(self, job_id: str, hit: str, relevance: int, comment: str) -> str:
        """See `Transport.feedback`. Sent twice it is kept once, since what is said later replaces it."""
        said = to_json({"hit": hit, "relevance": relevance, "comment": comment})
        reply = await self._exchange.ask("POST", f"{_path(job_id)}/feedback", job_id=job_id, content=said)
        return str(reply.body()["job_id"])

    async def _act(self, job_id: str, action: str) -> bool:
        """Act on a job that has ended. What an earlier try of the same call did counts as done."""
        path = f"{_path(job_id)}:{action}"
        reply = await self._exchange.ask("POST", path, job_id=job_id, taken=frozenset((404,)))
        if reply.status == 404:
            if not problem_of(reply.response):
                raise error_of(reply.response)
            return reply.is_repeated and action != "replay"
        found = reply.body()
        return bool(found["done"]) or (reply.is_repeated and action == "replay" and found["state"] != "dead")

    async def recent(self, *, limit: int, labels: Mapping[str, str], idempotency_key: str | None) -> list[str]:
        """See `Transport.recent`."""
        wanted: dict[str, str | list[str]] = {"label": [f"{name}:{value}" for name, value in labels.items()]}
        if idempotency_key is not None:
            wanted["idempotency_key"] = idempotency_key
        return await self._listed(limit, lambda job: not job.get("is_gone"), **wanted)

    async def past(self, *, until: float, limit: int) -> list[str]:
        """See `Transport.past`."""
        at = datetime.fromtimestamp(until, UTC).isoformat()
        return await self._listed(limit, lambda job: job["state"] not in ("queued", "running"), until=at)

    async def dead(self, *, limit: int) -> list[str]:
        """See `Transport.dead`."""
        return await self._listed(limit, lambda job: not job.get("is_gone"), state="dead")

    async def _listed(self, limit: int, fits: Callable[[Any], bool], **wanted: str | list[str]) -> list[str]:
        found: list[str] = []
        before: dict[str, str] = {}
        while len(found) < limit:
            params = {**wanted, **before, "limit": str(PAGE)}
            page = (await self._exchange.ask("GET", "/v1/jobs", params=params)).body()
            found += [job["job_id"] for job in page["jobs"] if fits(job)]
            if page["next"] is None:
                break
            before = {"before": page["next"]}
        return found[:limit]

    async def collections(self) -> Collections:
        """See `Transport.collections`. Those are the ones that the key may see."""
        listed = (await self._exchange.ask("GET", "/v1/collections")).body()["collections"]
        return {kind: {held["name"] for held in listed if kind in held["kinds"]} for kind in RETRIEVERS}

    async def writes_answers(self) -> bool:
        """See `AsyncTransport.writes_answers`."""
        return False

    async def record(self, batch: str, about: KeptBatch) -> None:
        """See `Transport.record`."""
        with suppress(QuerymillError):
            await self._exchange.ask("PUT", f"/v1/batches/{batch}", content=about.model_dump_json().encode())


def _read(job_id: str, shown: Mapping[str, Any]) -> Picture:
    try:
        return picture_of(shown)
    except (LookupError, TypeError, ValueError) as error:
        raise UnexpectedReply(f"the picture of job {job_id}: {type(error).__name__} {error}") from error


def _path(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def _fit_for_header(key: str) -> str:
    """Return an idempotency key as a header can carry it: itself, or a hash of it."""
    return key if _VISIBLE.fullmatch(key) and '"' not in key else f"sha256-{hashlib.sha256(key.encode()).hexdigest()}"
