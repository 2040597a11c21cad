"""What a caller may reach of what is stored: the port between tools and a client, with or without a key."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from types import MappingProxyType
from typing import Any, Final, Protocol, Self, TypeVar, cast

from querymill.client.mill import AsyncQuerymill
from querymill.keys import Scope
from querymill.presenting.places import Place
from querymill.presenting.request_fields import filled_in
from querymill_shared.contracts.errors import QuerymillError, UnknownCollection
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.fields import JOINED
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.search import Search, with_branches

R = TypeVar("R", bound=JobResult)
#: A job ends by its deadline; this is how much longer its result may take to come, in seconds.
MARGIN_S: Final = 2.0
#: How long the result of a job without a deadline is waited for, in seconds.
PATIENCE_S: Final = 20.0


class Running(Protocol):
    """A submitted job."""

    id: str

    def events(self, *, timeout: float | None = None) -> AsyncIterator[Event]:
        """Yield its events from the beginning to the end."""
        ...

    async def result(self, timeout: float | None = None) -> Any:  # as `AsyncJob.result`
        """Return its result."""
        ...

    async def cancel(self) -> bool:
        """Cancel it."""
        ...


class Access(Protocol):
    """The collections that a caller may see, and what it may do there."""

    @property
    def scopes(self) -> frozenset[Scope]:
        """What the caller may do."""
        ...

    async def collections(self) -> Mapping[str, Sequence[Retriever]]:
        """Return the collections that the caller may see, with the kinds that each holds."""
        ...

    def may_name(self, collection: str) -> bool:
        """Whether the caller may use a collection, whatever it holds."""
        ...

    async def writes_answers(self) -> bool:
        """Return whether a chat model writes answers; otherwise they are quotations."""
        ...

    async def submit(self, request: JobRequest) -> Running:
        """Submit a job, if the caller may."""
        ...

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """Return the same access, whose jobs have these labels.

        Raises:
            pydantic.ValidationError: A label breaks a rule.
        """
        ...

    def link(self, place: Place) -> str:
        """Return the address where a person can read a place, "" if there is none."""
        ...


async def run(access: Access, request: Asks[R]) -> R:
    """Run a job and return its result. If the caller goes, the job is cancelled.

    Raises:
        JobFailed, JobCancelled: It ended without a result.
        TimeoutError: It has none in time; a job with a deadline is cancelled then.
    """
    asked = cast("JobRequest", request)
    job = await access.submit(asked)
    wait_s = PATIENCE_S if asked.deadline is None else asked.deadline + MARGIN_S
    try:
        return cast("R", await job.result(wait_s))
    except asyncio.CancelledError:
        await cancel(job)
        raise
    except TimeoutError:
        if asked.deadline is not None:
            await cancel(job)
        raise


async def cancel(job: Running) -> None:
    """Cancel a job even while this task is being cancelled."""
    with suppress(QuerymillError):
        await asyncio.shield(asyncio.ensure_future(job.cancel()))


class ClientAccess:
    """The access of a process to some collections, by a client of its own. No key is asked.

    Requests get what is the caller's ``own``, such as a time zone, where they leave such a field.
    """

    def __init__(
        self,
        mill: AsyncQuerymill,
        collections: Sequence[str],
        *,
        may_ingest: bool,
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._mill = mill
        self._own = own
        self._given = tuple(collections)
        self.scopes = frozenset((Scope.SEARCH, Scope.INGEST) if may_ingest else (Scope.SEARCH,))

    async def collections(self) -> Mapping[str, Sequence[Retriever]]:
        """Return the given collections. One that holds nothing yet has no kinds."""
        stored = await self._mill.collections()
        return {name: stored.get(name, ()) for name in self._given}

    def may_name(self, collection: str) -> bool:
        """Whether it is one of those given."""
        return collection in self._given

    async def writes_answers(self) -> bool:
        """Return whether a chat model writes answers."""
        return await self._mill.writes_answers()

    async def submit(self, request: JobRequest) -> Running:
        """Submit a job.

        Raises:
            UnknownCollection: The collection is none of those given.
        """
        if isinstance(request, Search):
            request = with_branches(request, await self.collections())
        for name in request.collection.split(JOINED):
            if name not in self._given:
                raise UnknownCollection(name, request.kind, self._given)
        return await self._mill.submit(cast("Asks[JobResult]", filled_in(request, self._own)))

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """Return the same access, whose jobs have these labels."""
        other = copy(self)
        other._mill = self._mill.labelled(labels)  # noqa: SLF001  # of this class
        return other

    def link(self, place: Place) -> str:  # noqa: ARG002
        """Return no address: a process on stdio has none."""
        return ""
