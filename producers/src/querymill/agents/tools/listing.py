"""The tool ``list``."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from querymill.agents.access import Access, run
from querymill.agents.conditions import conditions_of
from querymill.agents.stored_text import clean_line
from querymill.agents.tools.replies import ReplyEntry, compose
from querymill.agents.tools.scope import chosen
from querymill.presenting.numbers import quantity
from querymill.presenting.places import KINDS, Place
from querymill_shared.contracts.documents import DocumentCard, DocumentList, ListDocuments
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.filters import RESERVED, Retriever

DESCRIPTION: Final = (
    "List the collections with what each holds and can be filtered by, or the documents of one"
    " (of='reports', 'messages', 'conversations', 'modules' or 'files')."
)
#: A list is no longer than this, in tokens.
MAX_TOKENS: Final = 4_000
#: Documents that are looked at for the names of their metadata, and names that are shown.
_LOOKED_AT, _NAMES = 20, 12
_TITLE_CHARS: Final = 120
#: There are no more collections than a number of so many digits.
_CURSOR_DIGITS: Final = 9


class ListArguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    of: Literal["collections"] | Retriever = "collections"
    collection: str | None = None
    filter: dict[str, Any] = {}
    since: Annotated[str | None, Field(description="ISO date")] = None
    cursor: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20


async def call(access: Access, arguments: ListArguments) -> str:
    """List collections or documents.

    Raises:
        Fault: There is no such collection.
    """
    if arguments.of == "collections":
        return await _collections(access, arguments)
    collection, kind = await chosen(access, arguments.collection, arguments.of)
    meant = conditions_of(kind, arguments.filter, since=arguments.since)
    asked = ListDocuments.model_validate(
        {"retriever": kind, "collection": collection, "filter": meant.filter, "limit": arguments.limit}
        | {"cursor": arguments.cursor}
    )
    page = await run(access, asked)

    def head(shown: int) -> str:
        return f"{shown} of {page.total} {kind} in {collection}, in the order of their ids.{meant.said}"

    def foot(shown: int) -> str:
        if shown < len(page.documents):
            return f"The list is cut here: ask for limit={shown or 1}."
        return "" if page.cursor is None else f'More: cursor="{page.cursor}".'

    entries = [ReplyEntry(_document(card, kind, collection)) for card in page.documents]
    return compose(head, entries, foot=foot, max_tokens=MAX_TOKENS)


def _document(card: DocumentCard, kind: Retriever, collection: str) -> str:
    title = clean_line(card.title or "")[:_TITLE_CHARS]
    when = "" if card.when is None else f"{card.when:%Y-%m-%d}"
    parts = (str(Place(kind, collection, card.id)), title, when, quantity(card.size, card.unit))
    return " · ".join(part for part in parts if part)


async def _collections(access: Access, arguments: ListArguments) -> str:
    known = await access.collections()
    names = [name for name in sorted(known) if arguments.collection in (None, name)]
    given = arguments.cursor or ""
    start = int(given) if given.isdecimal() and len(given) <= _CURSOR_DIGITS else 0
    page = names[start : start + arguments.limit]
    told = await asyncio.gather(*(_collection(access, name, known[name]) for name in page))
    entries = [ReplyEntry(f"{name}: {said}") for name, said in zip(page, told, strict=True)]

    def foot(shown: int) -> str:
        return f'More: cursor="{start + shown}".' if start + shown < len(names) else ""

    return compose(lambda _: f"{quantity(len(names), 'collections')}.", entries, foot=foot, max_tokens=MAX_TOKENS)


async def _collection(access: Access, name: str, kinds: Sequence[Retriever]) -> str:
    told = await asyncio.gather(*(_kind(access, name, kind) for kind in KINDS if kind in kinds))
    return "; ".join(told) or "holds nothing yet"


async def _kind(access: Access, collection: str, kind: Retriever) -> str:
    try:
        page = await run(access, ListDocuments(retriever=kind, collection=collection, limit=_LOOKED_AT))
    except (JobEnded, TimeoutError):
        return f"{kind} (could not be counted just now)"
    fields = [*RESERVED[kind], *_metadata(page)][:_NAMES]
    return f"{page.total} {kind} (filter by {', '.join(fields)})"


def _metadata(page: DocumentList) -> list[str]:
    """Return the names of the metadata of the documents on a page."""
    names = {clean_line(name)[:40] for card in page.documents for name in card.metadata}
    return sorted(names - {""})
