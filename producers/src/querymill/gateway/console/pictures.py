"""Pages of reports as pictures, where the PDF file that a report was read from is kept on this machine.

Whoever ingests says where a file is, so nothing is shown on that word alone: the file must lie in a folder that the
operator named, and its content must be what was read.
"""

import asyncio
import hashlib
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import HEADERS, address
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.documents import fetch_whole
from querymill.gateway.http.problems import Problem
from querymill.gateway.http.readers import reading_room_of
from querymill.gateway.http.receiving import LIMITS
from querymill.gateway.http.waiting import matches
from querymill_reading.document import Unreadable
from querymill_reading.reports import SOURCE, STAMP
from querymill_reading.sources import sha256_in

router = APIRouter()

#: The modules that draw. A gateway without them shows texts alone.
_ENGINES: Final = ("pypdfium2", "PIL")
#: One reason for all: the difference would tell which files there are.
_NOT_KEPT: Final = "there is no picture: the file of this report is not kept here, or is another by now"
_PNG: Final = "image/png"


@dataclass(frozen=True, slots=True)
class PdfFile:
    """Where a report says that its file is, and the hash of the content that was read."""

    path: Path
    sha256: str


@router.get("/console/collections/{collection}/reports/{document}/pages/{number}.png")
async def show_picture(request: Request, collection: str, document: str, number: int) -> Response:
    """Draw a page of a report.

    Raises:
        Problem: There is no picture of it.
    """
    shown = await fetch_whole(request, collection, "reports", document)
    kept = await _kept(request, shown.document)
    if kept is None:
        raise Problem("not-found", _NOT_KEPT)
    tag = f'"{kept.sha256[:32]}-{number}"'
    headers = {**HEADERS, "ETag": tag, "Cache-Control": "private, no-cache"}
    if matches(request, tag):
        return Response(status_code=304, headers=headers)
    try:
        room = reading_room_of(request)
        picture = await room.draw(kept.path, number, caller_of(request), sha256=kept.sha256)
    except Unreadable as error:
        raise Problem("not-found", f"there is no picture: {error}") from None
    return Response(picture, headers=headers, media_type=_PNG)


async def picture_beside(
    request: Request, collection: str, document: str, report: Mapping[str, Any], number: int | None
) -> str | None:
    """Return the address of the picture of a page, None if there is none."""
    if number is None or await _kept(request, report) is None:
        return None
    return address("collections", collection, "reports", document, "pages", f"{number}.png")


async def _kept(request: Request, report: Mapping[str, Any]) -> PdfFile | None:
    if not all(map(find_spec, _ENGINES)):
        return None
    return await asyncio.to_thread(kept_file, report, context_of(request).settings.querymill_document_folders)


def file_of(report: Mapping[str, Any]) -> PdfFile | None:
    """Return the file that a report says it was read from, None if it names no PDF file with its content."""
    source, sha256 = report.get(SOURCE), sha256_in(str(report.get(STAMP)))
    if report.get("format") != "pdf" or not isinstance(source, str) or sha256 is None or "\0" in source:
        return None
    path = Path(source)
    return PdfFile(path, sha256) if path.is_absolute() else None


def kept_file(report: Mapping[str, Any], folders: Sequence[str]) -> PdfFile | None:
    """Return the file of a report with its links resolved, None if it may not be shown or is not what was read."""
    named = file_of(report)
    if named is None:
        return None
    try:
        path = named.path.resolve(strict=True)
        if not any(path.is_relative_to(Path(folder).resolve()) for folder in folders):
            return None
        sha256 = _sha256(path)
    except (OSError, RuntimeError):  # it is away or unreadable, or its links lead back to themselves
        return None
    return PdfFile(path, sha256) if sha256 == named.sha256 else None


def _sha256(path: Path) -> str | None:
    """Return the hash of the content of a file, None if it is no plain file or too large."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LIMITS.file_bytes:
        return None
    return _hashed(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=1_000)
def _hashed(path: Path, _: tuple[int, ...]) -> str:
    """Hash a file, once for each state of it. Drawing hashes what it draws again, so an old hash shows nothing new."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
