"""Reading uploaded documents, a few at a time, in processes of their own, and making reports of them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from fastapi import Query, Request

from querymill.broken_rules import rules_broken
from querymill.gateway.http.document_shapes import ReadDocument
from querymill.gateway.http.problems import Problem, invalid, unavailable
from querymill.gateway.http.receiving import LIMITS, Received, refused_by_the_disk
from querymill.gateway.http.shares import SharedPlaces
from querymill.ingesting.jsonl import GoodLine, Lines
from querymill.keys import ApiKey
from querymill_reading.document import Document, EngineMissing, NoRoom, Unreadable
from querymill_reading.process import FileReader
from querymill_reading.reports import SOURCE, report_of
from querymill_shared.contracts.fields import Sha1

T = TypeVar("T")
#: Documents that are read at once: each may take a core and much memory. One key gets two of them.
READERS: Final = 3
#: Documents that are received or wait for a reader at once: each is a file on the disk. One key gets half of them.
RECEIVED: Final = 32
#: How long a document waits for a reader, in seconds: longer than any is read, so that the next in turn gets one.
QUEUE_S: Final = 90.0
#: How long the picture of a page waits for a reader, in seconds: a person is looking at the page.
PICTURE_QUEUE_S: Final = 20.0
_BUSY: Final = "too many documents are read; send it again"


@dataclass(frozen=True, slots=True)
class GivenFields:
    """What a caller says about an uploaded document. What is given stands in place of what the document proposes."""

    name: Annotated[str | None, Query(max_length=255, description="documents: the name of the file")] = None
    id: Annotated[
        Sha1 | None,
        Query(
            description="documents: the id, under which a later upload replaces it; else a hash of the content",
        ),
    ] = None
    title: Annotated[str | None, Query(max_length=500, description="documents: the title")] = None
    company: Annotated[str | None, Query(max_length=500, description="documents: whom they are about")] = None
    period: Annotated[str | None, Query(max_length=500, description="documents: as 2022 or 2022 Q3")] = None
    published_at: Annotated[str | None, Query(max_length=40, description="documents: the day, as 2022-05-20")] = None

    @property
    def is_any(self) -> bool:
        """Whether anything is given."""
        return any(value is not None for value in asdict(self).values())


class ReadingRoom:
    """The readers of one gateway. A process is started when it is needed, and kept for the next document."""

    def __init__(self) -> None:
        self._idle: list[FileReader] = []
        self._places = SharedPlaces(READERS)
        self._files = SharedPlaces(RECEIVED)
        # Their own: a document that is read for a minute holds a thread, and all others of the process are short.
        self._threads = ThreadPoolExecutor(READERS, "reading")

    @asynccontextmanager
    async def place(self, caller: ApiKey) -> AsyncIterator[None]:
        """Hold a place for the file of a caller's document.

        Raises:
            Problem: There is none for this caller.
        """
        if not self._files.take(caller.id):
            raise unavailable(_BUSY, retry_after_s=10)
        try:
            yield
        finally:
            self._files.give_back(caller.id)

    async def read(self, file: Received, caller: ApiKey) -> Document:
        """Read a document, once a reader is free and it is the turn of its caller.

        Raises:
            Problem: It cannot be read, or no reader became free.
        """
        async with self._free_reader(caller, QUEUE_S) as reader:
            try:
                return await self._in_thread(partial(reader.read, file.path, name=file.name))
            except NoRoom as error:
                raise refused_by_the_disk(str(error)) from error
            except EngineMissing as error:
                raise Problem("media-type", f"this gateway reads no such documents: {error}") from None
            except Unreadable as error:
                raise Problem("unreadable", f"document: {error}", errors=[("document", str(error))]) from None

    async def draw(self, path: Path, number: int, caller: ApiKey, *, sha256: str) -> bytes:
        """Return a page of a PDF file, from 1, as a PNG picture, if the content of the file has that hash.

        Raises:
            Unreadable: There is no picture of it.
            Problem: No reader became free.
        """
        async with self._free_reader(caller, PICTURE_QUEUE_S) as reader:
            return await self._in_thread(partial(reader.draw, path, number, sha256=sha256))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @asynccontextmanager
    async def _free_reader(self, caller: ApiKey, patience_s: float) -> AsyncIterator[FileReader]:
        try:
            await self._places.wait(caller.id, patience_s=patience_s)
        except TimeoutError:
            raise unavailable(_BUSY, retry_after_s=10) from None
        reader = self._idle.pop() if self._idle else FileReader(LIMITS)
        try:
            yield reader
        except asyncio.CancelledError:
            reader.give_up()  # otherwise its thread would continue
            reader = FileReader(LIMITS)
            raise
        finally:
            self._idle.append(reader)
            self._places.give_back(caller.id)

    def close(self) -> None:
        """End the processes."""
        for reader in self._idle:
            reader.close()
        self._threads.shutdown(wait=False)


def reading_room_of(request: Request) -> ReadingRoom:
    """Return the readers of the application."""
    room: ReadingRoom = request.app.state.reading
    return room


def line_of(
    lines: Lines[Any], document: Document, file: Received, given: GivenFields
) -> tuple[GoodLine[Any], ReadDocument]:
    """Return what is ingested of a document, and what is reported to the caller.

    Raises:
        Problem: A field breaks a rule.
    """
    fields = {name: value for name, value in asdict(given).items() if name not in ("id", "name")}
    row = report_of(document, given.id or hash_of(file.path), fields, {SOURCE: file.name})
    try:
        read = lines.document.model_validate(row)
    except ValueError as error:
        raise invalid(*((place or "document", rule) for place, rule in rules_broken(error))) from None
    return GoodLine(1, file.path.stat().st_size, read, unit="document"), _told(row, document)


def hash_of(path: Path) -> str:
    """Return the id of a document that has none: a hash of its content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:40]


def _told(row: Mapping[str, Any], document: Document) -> ReadDocument:
    return ReadDocument(
        id=row["sha1"],
        format=document.format,
        pages=len(document.pages),
        title=row["title"],
        company=row["company"],
        period=row["period"],
        published_at=row["published_at"],
        remarks=[str(remark) for remark in document.remarks][:100],
    )
