"""What all adapters do: make the request of a question, run it as a job, and return its passages."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from querymill.adapters.clients import Clients
from querymill.adapters.passages import Files, RetrievedPassage, files_to_read, passages_of
from querymill.adapters.turns import turns_of
from querymill.client.job import AsyncJob
from querymill.client.mill import AsyncQuerymill
from querymill_shared.contracts.errors import JobEnded, QuerymillError
from querymill_shared.contracts.kinds import LIMITS, SEARCHES
from querymill_shared.contracts.modules.search import CANDIDATES
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.search import AnySearch, AnySearchResult, Search
from querymill_shared.contracts.submit_options import SubmitOptions, options_beside

#: What a search of every kind is called where a kind is named.
ALL: Final = "all"
#: A job ends by its deadline; this is how much longer its result may take to come, in seconds.
MARGIN_S: Final = 5.0
#: The defaults of a retriever: documents with their metadata, and no prompt made of them.
_DEFAULTS: Final[Mapping[str, Any]] = {"metadata": True, "prompt_tokens": 0, "context_budget": 0}
#: A question in place of the one to come, so that everything else is checked before it.
_ANY_QUESTION: Final = "?"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AskedSearch:
    """The request of a question, and what accompanies it."""

    request: AnySearch
    options: SubmitOptions


@dataclass(frozen=True, slots=True)
class Searching:
    """Searches of one collection for one kind of document, or of all kinds: in one collection, or in all.

    ``fields`` are fields of that kind's request, such as ``hyde`` or ``filter``, for every question. ``size_name`` is
    what the library calls the number of passages. ``fields`` may hold ``labels`` and ``supersedes`` too.
    """

    kind: str
    collection: str | None
    fields: Mapping[str, Any]
    clients: Clients
    size_name: str

    def check(self, limit: int) -> None:
        """Check everything but the question. Raises as `request` does."""
        self.request(_ANY_QUESTION, limit)

    def request(self, query: str, limit: int, fields: Mapping[str, Any] | None = None) -> AskedSearch:
        """Return the request of a question for so many passages; ``fields`` take the place of the ones for all.

        Raises:
            ValueError: There is no such kind, ``limit`` is below 1, or a field is missing or said elsewhere.
            pydantic.ValidationError: A field breaks a rule, or is unknown; the error names both.
        """
        search = Search if self.kind == ALL else SEARCHES.get(self.kind)
        if search is None:
            raise ValueError(f"kind: {self.kind!r} is not one of: {', '.join([*SEARCHES, ALL])}")
        size = next(name for name in LIMITS if name in search.model_fields)
        if limit < 1:
            raise ValueError(f"{self.size_name}: must be at least 1 ({limit})")
        given, options = options_beside({**self.fields, **(fields or {})})
        if given.get("history") is not None:
            given["history"] = turns_of(given["history"])
        own = {"query": query, size: limit} | self._named()
        if clash := given.keys() & own.keys():
            raise ValueError(f"{', '.join(sorted(clash))}: has a parameter of its own, and is no further field")
        defaults = {name: value for name, value in _DEFAULTS.items() if name in search.model_fields}
        if self.kind == "modules":
            defaults["candidates"] = max(CANDIDATES, limit)
        return AskedSearch(search.model_validate({**defaults, **given, **own}), options)

    def _named(self) -> dict[str, Any]:
        """Return the fields that say what is searched."""
        if self.kind == ALL:
            return {} if self.collection is None else {"collections": (self.collection,)}
        if self.collection is None:
            raise ValueError(
                f"collection: name the one to search for {self.kind}; only kind={ALL!r} searches every one"
            )
        return {"kind": self.kind, "collection": self.collection}

    def run(self, asked: AskedSearch) -> list[RetrievedPassage]:
        """Search, and wait for the passages, best first.

        Raises:
            UnknownCollection: Nothing of this kind was ever ingested into the collection.
            Overloaded: No worker could begin before the deadline.
            JobFailed, JobCancelled: It ended without a result, with the reason.
            TimeoutError: It did not end by its deadline, for example because no worker runs.
        """
        client = self.clients.of_threads()
        job = client.submit_with(cast("Asks[JobResult]", asked.request), asked.options)
        result = cast("AnySearchResult", job.result(_wait_s(asked.request)))
        files: dict[tuple[str, str], Mapping[str, Any]] = {}
        for collection, path in files_to_read(result):
            with suppress(JobEnded):  # it was dropped since it was found
                files[collection, path] = client.show("files", path, collection=collection)
        return _told(result, files)

    async def run_async(self, asked: AskedSearch) -> list[RetrievedPassage]:
        """`run`, awaitable. If the task is cancelled, so is the job."""
        client = self.clients.of_loop()
        if client is None:
            return await asyncio.to_thread(self.run, asked)
        result = cast("AnySearchResult", await _result(client, asked))
        named = files_to_read(result)
        read = await asyncio.gather(*(_file(client, collection, path) for collection, path in named))
        return _told(result, {name: file for name, file in zip(named, read, strict=True) if file is not None})


def _wait_s(request: AnySearch) -> float | None:
    return None if request.deadline is None else request.deadline + MARGIN_S


async def _result(client: AsyncQuerymill, asked: AskedSearch) -> JobResult:
    # In a task of its own, so that a caller that goes while the job is being submitted leaves none behind.
    submission = asyncio.ensure_future(client.submit_with(cast("Asks[JobResult]", asked.request), asked.options))
    try:
        job = await asyncio.shield(submission)
        return await job.result(_wait_s(asked.request))
    except asyncio.CancelledError:
        await asyncio.wait({asyncio.ensure_future(_cancel(submission))})
        raise


async def _cancel(submission: asyncio.Future[AsyncJob[JobResult]]) -> None:
    with suppress(QuerymillError):
        await (await submission).cancel()


async def _file(client: AsyncQuerymill, collection: str, path: str) -> Mapping[str, Any] | None:
    """Return a file, None if it has been dropped since it was found."""
    try:
        return await client.show("files", path, collection=collection)
    except JobEnded:
        return None


def _told(result: AnySearchResult, files: Files) -> list[RetrievedPassage]:
    """Return the passages, and log what is missing, which a list without passages could not tell."""
    if result.degraded:
        missing = ", ".join(f"{part.stage} ({part.code or 'unknown'})" for part in result.degraded)
        _log.warning("job %s, a search of %s, lacks: %s", result.job_id, result.kind, missing)
    return passages_of(result, files)
