"""The tool ``search``."""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from querymill.agents.access import Access, run
from querymill.agents.answering import texts_of
from querymill.agents.conditions import conditions_of
from querymill.agents.found import found_in
from querymill.agents.searches import ALL, MAX_HITS, AskedKind, search_of
from querymill.agents.stored_text import clean_line
from querymill.agents.tools.faults import Fault
from querymill.agents.tools.replies import Budget, compose, entry_of
from querymill.agents.tools.scope import chosen_or_all
from querymill.presenting.turns import turns_in
from querymill_shared.contracts.fields import MAX_QUERY_CHARS
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.results import Asks, Degradation, JobResult
from querymill_shared.contracts.search import AnySearchResult

DESCRIPTION: Final = (
    "Search stored documents, chats or code. Returns passages, best first, with ids for `read`."
    " No collection: all (see `list`)."
)
_CURSOR: Final = re.compile(r"(?P<start>\d{1,3})-(?P<search>[0-9a-f]{8})")
#: Parts that were missing, as a reply names them at most, and their characters.
_MISSING, _MISSING_CHARS = 3, 160


class SearchArguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    collection: str | None = None
    kind: Retriever | None = None
    limit: Annotated[int, Field(ge=1, le=50)] = 8
    history: str = ""
    filter: Annotated[dict[str, Any], Field(description='{"company": "ACME"}, {"path": {"prefix": "src/"}}')] = {}
    since: Annotated[str | None, Field(description="ISO date")] = None
    until: str | None = None
    max_tokens: Budget = 2_000
    cursor: str | None = None


async def call(access: Access, arguments: SearchArguments) -> str:
    """Search, and return the hits within the budget.

    Raises:
        Fault: There is no such collection, or the cursor is that of another search.
    """
    collection, kind = await chosen_or_all(access, arguments.collection, arguments.kind)
    meant = conditions_of(kind, arguments.filter, since=arguments.since, until=arguments.until)
    history = history_of(arguments.history)
    name = _name(kind, collection, arguments.query, meant.filter, arguments.history)
    start = 0 if arguments.cursor is None else _start(arguments.cursor, name)
    begun = time.monotonic()
    search = search_of(
        kind, collection, arguments.query, limit=start + arguments.limit, conditions=meant.filter, history=history
    )
    result = cast("AnySearchResult", await run(access, cast("Asks[JobResult]", search)))
    hits = await texts_of(access, found_in(result)[start:])
    took = f"{time.monotonic() - begun:.2f} s"
    entries = [entry_of(number, hit, access.link(hit.place)) for number, hit in enumerate(hits, start=start + 1)]
    reachable = min(result.total, MAX_HITS[kind])

    def head(shown: int) -> str:
        said = f"{shown} of {result.total} hits" if result.total else "No hits"
        return f"{said} in {where(collection, kind)}, {took}.{missing(result.degraded)}{meant.said}"

    def foot(shown: int) -> str:
        more = reachable - start - shown
        rest = f'{more} more: cursor="{start + shown}-{name}". ' if more > 0 and shown else ""
        whole = f'More of a place: read(id="{hits[0].place}").' if shown else ""
        return rest + whole

    return compose(head, entries, foot=foot, max_tokens=arguments.max_tokens)


def where(collection: str, kind: AskedKind) -> str:
    """Name what was searched."""
    return "all collections" if kind == ALL else f"{collection} ({kind})"


def missing(degraded: tuple[Degradation, ...]) -> str:
    """Say what a result lacks, "" if nothing."""
    if not degraded:
        return ""
    parts = [f"{part.stage}: {clean_line(part.reason)}"[:_MISSING_CHARS] for part in degraded[:_MISSING]]
    return f" Missing: {'; '.join(parts)}."


def history_of(written: str) -> tuple[Turn, ...]:
    """Read the turns before a question: a line each, with who said it."""
    return tuple(map(Turn.model_validate, turns_in(written.split("\n"))))


def _name(kind: AskedKind, collection: str, query: str, conditions: Mapping[str, Any], history: str) -> str:
    asked = json.dumps([kind, collection, query, dict(conditions), history], sort_keys=True)
    return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:8]


def _start(cursor: str, name: str) -> int:
    found = _CURSOR.fullmatch(cursor)
    if found is None or found["search"] != name:
        raise Fault("cursor: is that of another search; repeat the query, collection, kind, filter and history with it")
    return int(found["start"])
