"""The access of a caller to a mill in memory."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from copy import copy
from typing import Any, Self, cast

from querymill import Job
from querymill.keys import Scope
from querymill.presenting.places import Place
from querymill.testing import MemoryMill
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import Asks, JobResult


class MemoryRunning:
    """A job of a mill in memory, awaitable."""

    def __init__(self, job: Job[Any]) -> None:
        self.id = job.id
        self.job = job

    async def events(self, *, timeout: float | None = None) -> AsyncIterator[Event]:
        for event in await asyncio.to_thread(lambda: list(self.job.events(timeout=timeout))):
            yield event

    async def result(self, timeout: float | None = None) -> Any:
        return await asyncio.to_thread(self.job.result, timeout)

    async def cancel(self) -> bool:
        return await asyncio.to_thread(self.job.cancel)


class MemoryAccess:
    """Some scopes and some collections; without a list of collections, all. No chat model ``writes`` answers."""

    writes = False

    def __init__(
        self, mill: MemoryMill, *, scopes: Sequence[Scope] = tuple(Scope), collections: Sequence[str] | None = None
    ) -> None:
        self._mill = mill
        self._given = collections
        self.scopes = frozenset(scopes)
        self.submitted: list[JobRequest] = []

    async def collections(self) -> Mapping[str, Sequence[Retriever]]:
        return {name: kinds for name, kinds in self._mill.collections().items() if self.may_name(name)}

    def may_name(self, collection: str) -> bool:
        return self._given is None or collection in self._given

    async def writes_answers(self) -> bool:
        return self.writes

    async def submit(self, request: JobRequest) -> MemoryRunning:
        self.submitted.append(request)
        return MemoryRunning(self._mill.submit(cast("Asks[JobResult]", request)))

    def labelled(self, labels: Mapping[str, str]) -> Self:
        other = copy(self)
        other._mill = self._mill.labelled(labels)
        return other

    def link(self, place: Place) -> str:
        return f"http://host{place.link}"
