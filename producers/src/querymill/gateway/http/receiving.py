"""Documents that arrive as they are: the body of a request becomes a file, raw or out of a form."""

import asyncio
import errno
import logging
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from querymill.gateway.http.problems import Problem, invalid
from querymill.gateway.http.routing import media_of
from querymill_reading.document import ReadLimits
from querymill_reading.formats import BY_SUFFIX

_log = logging.getLogger(__name__)

FORM: Final = "multipart/form-data"
#: A body of this type may be anything: the name of the file decides.
ANY: Final = "application/octet-stream"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
#: The ending of a file by its media type.
SUFFIXES: Final = {
    "application/pdf": ".pdf",
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    f"{_OFFICE}.wordprocessingml.document": ".docx",
    f"{_OFFICE}.presentationml.presentation": ".pptx",
    f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "message/rfc822": ".eml",
    "application/vnd.ms-outlook": ".msg",
    "application/epub+zip": ".epub",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
#: Every media type of an upload of one document.
DOCUMENT_TYPES: Final = (*SUFFIXES, ANY, FORM)
#: What one uploaded document may cost. A job holds its text, which is therefore no longer than a line may be.
LIMITS: Final = ReadLimits(seconds=60.0, characters=15_000_000)
#: The field of a form that has the file, and how much may stand in a form besides.
FILE_FIELD: Final = "file"
MAX_FIELD: Final = 10_000


@dataclass(frozen=True, slots=True)
class Received:
    """A document on this machine's disk, and what its owner calls it: a name whose ending tells its format."""

    path: Path
    name: str


@asynccontextmanager
async def received(request: Request, name: str | None) -> AsyncIterator[Received]:
    """Receive the document of a request, which is deleted in the end. ``name`` is what the caller calls it.

    Raises:
        Problem: It is too large, or no document by its media type and its name, or the disk does not take it.
        ClientDisconnect: The client has gone before its end.
    """
    media = media_of(request)
    if media != FORM:
        # Refused before a byte of it is read.
        known_as = name_of(name, media)
    with ExitStack() as kept:
        with _taken_by_the_disk():
            path = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="querymill-"))) / "document"
            if media == FORM:
                known_as = await _store_form(request, name, path)
            else:
                with path.open("wb") as written:
                    async for chunk in _bounded(request):
                        written.write(chunk)
        yield Received(path, known_as)


async def _store_form(request: Request, name: str | None, path: Path) -> str:
    """Write the file of a form to a path; returns its name."""
    file = await _in_form(request)
    try:
        known_as = name_of(name or file.filename, (file.content_type or ANY).partition(";")[0].strip().lower())
        await asyncio.to_thread(_copy, file, path)
    finally:
        await file.close()
    return known_as


@contextmanager
def _taken_by_the_disk() -> Iterator[None]:
    """Name what the disk refuses: to the caller as a problem, to the operator in the log.

    Raises:
        Problem: There is no folder for uploads, or no room in it.
    """
    try:
        yield
    except OSError as error:
        raise refused_by_the_disk(errno.errorcode.get(error.errno or 0, type(error).__name__)) from error


def refused_by_the_disk(why: str) -> Problem:
    """Return the problem of a document for which there is no room, and tell the operator why."""
    _log.warning("an upload was refused: %s; TMPDIR must name a writable folder with room for documents", why)
    return Problem("no-room", headers={"Retry-After": "60", "Connection": "close"})


def name_of(name: str | None, media: str) -> str:
    """Return a name for a document, with an ending that is known.

    Raises:
        Problem: Neither the name nor the media type is that of a document.
    """
    known = PurePath((name or "").replace("\\", "/")).name
    if PurePath(known).suffix.lower() in BY_SUFFIX:
        return known
    if media in SUFFIXES:
        return f"{known or 'document'}{SUFFIXES[media]}"
    said = f"Content-Type: must be that of a document, or name the file with one of {', '.join(BY_SUFFIX)}"
    raise Problem("media-type", said)


def _copy(file: UploadFile, path: Path) -> None:
    with path.open("wb") as written:
        shutil.copyfileobj(file.file, written)


async def _bounded(request: Request) -> AsyncGenerator[bytes]:
    left = LIMITS.file_bytes
    async for chunk in request.stream():
        left -= len(chunk)
        if left < 0:
            said = f"A document may have {LIMITS.file_bytes} bytes."
            raise Problem("too-large", said, headers={"Connection": "close"})
        yield chunk


async def _in_form(request: Request) -> UploadFile:
    """Return the one file of a form.

    Raises:
        Problem: There is another number of files, or no form.
    """
    parser = MultiPartParser(request.headers, _bounded(request), max_files=1, max_fields=10, max_part_size=MAX_FIELD)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise invalid((FILE_FIELD, f"must be one file of a form: {error.message}")) from None
    found = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    if not found:
        raise invalid((FILE_FIELD, "must be a file of the form"))
    others = sorted({key[:100] for key, value in form.multi_items() if not isinstance(value, UploadFile)})
    if others:
        await found[0].close()
        raise invalid(
            *((key, "is no field of this form; the address has title, company and the like") for key in others)
        )
    return found[0]
