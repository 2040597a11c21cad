"""The route of ingestion: JSON lines of any length, handed on while they are read, or one document as it is.

At most one job's worth of lines is in memory, and a few jobs are under way: a caller that sends faster than the workers
store is held up by its own connection. What came whole before the client went is accepted, half a line never.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, cast
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.requests import ClientDisconnect

from querymill.broken_rules import rules_broken
from querymill.gateway.http import audit
from querymill.gateway.http.batches import batch_of, remember
from querymill.gateway.http.context import caller_of, context_of, need, need_sight
from querymill.gateway.http.document_shapes import BatchBody, ReadDocument, RejectedLine, UploadBody, UploadOutcome
from querymill.gateway.http.labels import GivenLabels, read_labels
from querymill.gateway.http.parameters import KindName, NamedCollection
from querymill.gateway.http.problems import NAMED_CHARS, Problem, invalid, not_found, unavailable
from querymill.gateway.http.readers import GivenFields, line_of, reading_room_of
from querymill.gateway.http.receiving import ANY, DOCUMENT_TYPES, FILE_FIELD, FORM, received
from querymill.gateway.http.routing import GatewayRoute, answers, check_media, media_of
from querymill.gateway.http.submitting import submit_job
from querymill.gateway.http.waiting import WaitSeconds, until_done_or_gone, wait_for_ends
from querymill.ingesting.jsonl import GoodLine, Lines
from querymill.ingesting.kinds import KINDS
from querymill.ingesting.packing import Packer
from querymill.ingesting.submitting import IN_FLIGHT, new_packer, request_of
from querymill.keys import Scope
from querymill_shared.contracts.errors import QuerymillError, Unavailable
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions

router = APIRouter(route_class=GatewayRoute, tags=["documents"])

MEDIA_TYPES: Final = ("application/x-ndjson", "application/jsonl", "application/json-lines")
MAX_LINE: Final = 16_000_000
MAX_REJECTED: Final = 100
#: Lines that an upload may have refused beyond those that are good. Then it ends: somebody should look at it first.
REFUSED_BEYOND_GOOD: Final = 1_000
#: What is still read of such a body and thrown away, in bytes, so that most callers are there to read the answer.
THROWN_AWAY: Final = 8_000_000
#: Jobs of one upload that may wait for a worker. Then the caller has to wait.
UNDER_WAY: Final = 4 * IN_FLIGHT
#: How long one job may hold up the caller of an upload before the gateway asks it to come back, in seconds.
PATIENCE_S: Final = 120.0
#: How often an upload is remembered while its lines are read, in seconds.
REMEMBERED_EVERY_S: Final = 1.0
_STOPS: Final = "the gateway is stopping"
_STOPPING: Final = {"Retry-After": "1", "Connection": "close"}


@dataclass(slots=True)
class Upload:
    """What has become of the lines so far."""

    lines: Lines[Any]
    collection: str
    kind: Retriever
    options: SubmitOptions = PLAIN
    batch: str = field(default_factory=lambda: uuid4().hex)
    accepted: int = 0
    good: int = 0
    rejected: int = 0
    first_rejected: list[RejectedLine] = field(default_factory=list)
    jobs: list[tuple[str, int]] = field(default_factory=list)
    began_at: float = 0.0
    remembered_at: float = 0.0
    under_way: deque[str] = field(default_factory=deque)
    documents: list[ReadDocument] = field(default_factory=list)
    packer: Packer[GoodLine[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.packer = new_packer()

    def reject(self, number: int, place: str, rule: str) -> None:
        """Note a line that breaks a rule."""
        self.rejected += 1
        if len(self.first_rejected) < MAX_REJECTED:
            self.first_rejected.append(RejectedLine(line=number, field=place[:NAMED_CHARS] or "line", rule=rule[:300]))

    def read(self, number: int, line: bytes) -> GoodLine[Any] | None:
        """Read a line. Return None if it breaks a rule."""
        try:
            document = self.lines.document_of(line)
        except (ValueError, RecursionError) as error:
            self.reject(number, *rules_broken(error)[0])
            return None
        self.good += 1
        return GoodLine(number, len(line), document)

    def read_all(self, lines: Sequence[tuple[int, bytes | None]]) -> list[GoodLine[Any]]:
        """Read numbered lines, None for one that is too long. Return the good ones until the upload has ended."""
        found: list[GoodLine[Any]] = []
        for number, line in lines:
            if line is None:
                self.reject(number, "", f"must be at most {MAX_LINE} bytes")
            elif (good := self.read(number, line)) is not None:
                found.append(good)
            if self.has_ended:
                break
        return found

    @property
    def has_ended(self) -> bool:
        """Whether more than its share of the lines was refused."""
        return self.rejected > REFUSED_BEYOND_GOOD + self.good


IncludeSecrets = Annotated[
    bool, Query(description="files: also private keys, .env, and what holds a known token; else they are rejected")
]
Vectors = Annotated[
    bool, Query(description="files: the whole collection has vectors from now on, and is searched by meaning too")
]
_FILE: Final = {"type": "string", "contentMediaType": ANY}
_BODY: Final[dict[str, Any]] = {
    **{media: {"schema": {"type": "string"}} for media in MEDIA_TYPES},
    **{media: {"schema": _FILE} for media in DOCUMENT_TYPES if media != FORM},
    FORM: {"schema": {"type": "object", "properties": {FILE_FIELD: _FILE}, "required": [FILE_FIELD]}},
}


@router.post(
    "/v1/collections/{collection}/{kind}",
    status_code=202,
    response_model=UploadBody,
    responses=answers(
        {200: {"description": "What was stored, if that ended in time", "model": UploadOutcome}},
        problems=(409, 415, 424, 507),
    ),
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def upload(
    request: Request,
    collection: NamedCollection,
    kind: KindName,
    given: Annotated[GivenFields, Depends()],
    *,
    include_secrets: IncludeSecrets = False,
    vectors: Vectors = False,
    label: GivenLabels = [],  # noqa: B006  # never changed
    wait: WaitSeconds = 0,
) -> Response:
    """Ingest JSON lines, each a document as `querymill ingest` reads it. A bad line is named; the others are ingested.

    With reports the body may also be one document as it is: PDF, HTML, Office, OpenDocument, RTF, CSV, mail, EPUB,
    Markdown, text, by itself or as the file of a form. Title, company, period and day are proposed by the document;
    parameters override them. Of files, notebooks are read by cell, and lines with known secrets are rejected. Sent
    again, the same content changes nothing. With ``wait`` the response says what was stored, if the ingestion ends in
    time: then the documents are found.
    """
    caller = caller_of(request)
    need(caller, Scope.INGEST)
    need_sight(caller, collection)
    found = next((known for known in KINDS if known.name == kind), None)
    if found is None:
        raise not_found()
    check_media(request, *MEDIA_TYPES, *(DOCUMENT_TYPES if found.reads_documents else ()))
    is_document = media_of(request) not in MEDIA_TYPES
    if given.is_any and not is_document:
        raise invalid(("parameters", "name, id, title, company, period and published_at are for documents"))
    lines = found.documents
    if include_secrets and lines.refuse is None:
        raise invalid(("include_secrets", "is for files"))
    if vectors and not lines.makes_vectors_if_asked:
        raise invalid(("vectors", "is for files"))
    lines = lines.leaving_nothing_out() if include_secrets else lines
    options = SubmitOptions(labels=read_labels(label))
    state = Upload(lines.asking_for_vectors() if vectors else lines, collection, kind, options)
    async with context_of(request).waiting(caller):
        state.began_at = await context_of(request).now()
        if is_document:
            await _take_document(request, state, given)
        else:
            await _take_lines(request, state)
    await _remember(request, state)
    what = {"collection": collection, "kind": kind, "batch": state.batch, "documents": state.accepted}
    audit.note(caller, "ingest", request_id=request.state.request_id, **what)
    if not state.accepted:
        errors = [(f"line {bad.line}: {bad.field}", bad.rule) for bad in state.first_rejected[:20]]
        raise invalid(*(errors or [("body", "must hold at least one line")]))
    return await _answer(request, state, wait)


async def _answer(request: Request, state: Upload, wait_s: float) -> Response:
    """Answer with what was accepted, or, if its ingestion ends in time, with what was stored."""
    body, status = _body(state), 202
    if wait_s > 0 and await wait_for_ends(request, [job_id for job_id, _ in state.jobs], wait_s):
        ended = await batch_of(request, state.batch)
        body, status = UploadOutcome.model_validate({**ended.model_dump(), **body.model_dump()}), 200
    return JSONResponse(body.model_dump(mode="json"), status, {"Location": f"/v1/batches/{state.batch}"})


async def _take_document(request: Request, state: Upload, given: GivenFields) -> None:
    """Read the body as one document, and submit it.

    Raises:
        Problem: It cannot be read, or breaks a rule, or the process is about to stop.
        ClientDisconnect: The client has gone. Its document is read no further.
    """
    room, caller = reading_room_of(request), caller_of(request)
    async with room.place(caller), received(request, given.name) as file:
        reading, is_gone = await until_done_or_gone(request, room.read(file, caller))
        if reading.cancelled():
            raise ClientDisconnect if is_gone else Problem("unavailable", _STOPS, headers=_STOPPING)
        document = reading.result()
        line, told = await asyncio.to_thread(line_of, state.lines, document, file, given)
    state.documents.append(told)
    await _hand_on(request, state, [line])


async def _take_lines(request: Request, state: Upload) -> None:
    """Read the body as lines, and submit those that are good.

    Raises:
        Problem: The body or the gateway came to an end in the middle; it says how much was accepted.
    """
    try:
        try:
            await _take(request, state)
        except ClientDisconnect:
            await _hand_on(request, state, state.packer.take())
        except TimeoutError:
            await _hand_on(request, state, state.packer.take())
            raise Problem("unavailable", _STOPS, headers=_STOPPING) from None
    except (Problem, QuerymillError) as error:
        with suppress(Unavailable):  # the answer still says how much was accepted
            await _remember(request, state)
        raise _cut(state, error) from error


def _body(state: Upload) -> UploadBody:
    return UploadBody(
        batch=state.batch,
        accepted=state.accepted,
        rejected=state.rejected,
        first_rejected=state.first_rejected,
        documents=state.documents,
        links={
            "batch": f"/v1/batches/{state.batch}",
            "documents": f"/v1/collections/{state.collection}/{state.kind}",
        },
    )


def _cut(state: Upload, error: Exception) -> Problem:
    """Return the problem of an upload that ended in the middle. It says how much was accepted."""
    said = f"{state.accepted} documents were accepted before; sent again, they change nothing"
    if isinstance(error, Problem):
        error.detail = f"{error.detail} ({said})"
        return error
    return unavailable(f"the upload was cut: {said}")


async def _take(request: Request, state: Upload) -> None:
    """Read the body to its end."""
    parts = request.stream()
    async for lines in _lines(request, parts):
        # In a thread: the gateway serves others in the meantime, however long these lines take to check.
        for line in await asyncio.to_thread(state.read_all, lines) if lines else ():
            await _hand_on(request, state, state.packer.put(line))
        if state.has_ended:
            await _hand_on(request, state, state.packer.take())
            await _throw_away(request, parts)
            raise _too_many_refused(state)
    await _hand_on(request, state, state.packer.take())


def _too_many_refused(state: Upload) -> Problem:
    """Return the problem of an upload of which more than its share was refused."""
    said = f"lines: the upload ended after {state.rejected} refused lines and {state.good} good ones; the first:"
    errors = [(f"line {bad.line}: {bad.field}", bad.rule) for bad in state.first_rejected[:20]]
    more = "; ".join(f"{field}: {rule}" for field, rule in errors[:3])
    return Problem("invalid", f"{said} {more}", errors=errors, headers={"Connection": "close"})


async def _throw_away(request: Request, parts: AsyncGenerator[bytes]) -> None:
    left = THROWN_AWAY
    with suppress(ClientDisconnect, TimeoutError):
        while left > 0 and (chunk := await _next(request, parts)) is not None:
            left -= len(chunk)


async def _lines(request: Request, parts: AsyncGenerator[bytes]) -> AsyncIterator[Sequence[tuple[int, bytes | None]]]:
    """Yield the lines that end in each part of the body, with their numbers, from 1; None stands for one too long.

    Blank lines are counted and left out.

    Raises:
        ClientDisconnect: The client has gone. What came after the last whole line is not a line.
        TimeoutError: The process is about to stop.
    """
    number, rest, is_long = 1, bytearray(), False
    while (chunk := await _next(request, parts)) is not None:
        first, *ended = chunk.split(b"\n")
        is_long = is_long or len(rest) + len(first) > MAX_LINE
        rest = bytearray() if is_long else rest + first
        if not ended:
            continue
        whole: list[tuple[int, bytes | None]] = [
            (number, None if is_long else bytes(rest)),
            *enumerate(ended, number + 1),
        ]
        yield [(at, line) for at, line in whole[:-1] if line is None or not _is_blank(line)]
        number, rest, is_long = number + len(ended), bytearray(ended[-1]), False
    if is_long or not _is_blank(rest):
        yield [(number, None if is_long else bytes(rest))]


def _is_blank(line: bytes | bytearray) -> bool:
    return not line or line.isspace()


async def _next(request: Request, parts: AsyncGenerator[bytes]) -> bytes | None:
    """Return the next part of a body, None at its end."""
    async with asyncio.timeout(None) as patience:
        with context_of(request).stopping.calling(lambda: patience.reschedule(0)):
            return await anext(parts, None)


async def _hand_on(request: Request, state: Upload, lines: Sequence[GoodLine[Any]]) -> None:
    """Submit lines, if there are any, as one job, once few enough are under way."""
    if not lines:
        return
    if len(state.under_way) >= UNDER_WAY:
        await _oldest_over(request, state)
    asked = request_of(lines, state.lines.asking(state.collection))
    job = await submit_job(request, cast("JobRequest", asked), state.options, is_noted=False)
    state.jobs.append((job.id, len(lines)))
    state.under_way.append(job.id)
    state.accepted += len(lines)
    if asyncio.get_running_loop().time() - state.remembered_at > REMEMBERED_EVERY_S:
        await _remember(request, state, is_open=True)


async def _oldest_over(request: Request, state: Upload) -> None:
    board = context_of(request).mill.board
    job_id = state.under_way.popleft()
    loop = asyncio.get_running_loop()
    ends, pause = loop.time() + PATIENCE_S, 0.02
    while (await board.states([job_id]))[0] in ("queued", "running"):
        if loop.time() > ends:
            raise unavailable("the workers do not keep up", retry_after_s=60)
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.5)


async def _remember(request: Request, state: Upload, *, is_open: bool = False) -> None:
    """Keep how far the upload is; the first time that it holds anything, list it."""
    about = BatchBody(
        batch=state.batch,
        collection=state.collection,
        kind=state.kind,
        jobs={},
        gone=0,
        accepted=state.accepted,
        rejected=state.rejected,
        first_rejected=state.first_rejected,
        began_at=state.began_at,
        is_open=is_open,
    )
    is_first = not state.remembered_at and bool(state.jobs or state.rejected)
    await remember(context_of(request), about, state.jobs, is_first=is_first)
    state.remembered_at = asyncio.get_running_loop().time()
