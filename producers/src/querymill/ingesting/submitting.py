"""Ingesting documents: pack lines into jobs, keep a few jobs in flight, report progress.

Lines are read while others are ingested. However large the file is, only the documents in flight are in memory.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, cast

from querymill.ingesting.jsonl import Ask, GoodLine, Ingested
from querymill.ingesting.packing import Packer, PackLimits
from querymill_shared.board import Picture
from querymill_shared.contracts.documents import DocumentList, DropResult
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.events import Event, Progress, StageFinished
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import Extend, Ingest, IngestedDocument, IngestResult
from querymill_shared.contracts.results import Asks, JobResult

R = TypeVar("R", bound=JobResult)
R_co = TypeVar("R_co", bound=JobResult, covariant=True)
#: Jobs in flight at once: enough to keep the workers busy, few enough for the board.
IN_FLIGHT: Final = 8
#: Seconds without news of a job after which a caller is told what it waits for.
QUIET_S: Final = 5.0
#: Documents, and bytes of their lines, that are packed into one job: a second or so of work.
PACKED: Final = PackLimits(64, 400_000)


class Followed(Protocol[R_co]):
    """The part of a job that ingestion needs."""

    @property
    def id(self) -> str:
        """Its id on the board."""
        ...

    def events(self, *, timeout: float | None = None, after: str | None = None) -> Iterator[Event]:
        """See `Job.events`."""
        ...

    def result(self, timeout: float | None = None) -> R_co:
        """See `Job.result`."""
        ...

    def picture(self) -> Picture:
        """See `Job.picture`."""
        ...

    def release(self) -> bool:
        """See `Job.release`."""
        ...


class Submits(Protocol):
    """The part of a client that ingestion needs."""

    def submit(self, request: Asks[R], *, idempotency_key: str | None = None) -> Followed[R]:
        """See `Querymill.submit`."""
        ...

    def job(self, job_id: str) -> Followed[Any]:
        """See `Querymill.job`."""
        ...


class Stores(Submits, Protocol):
    """The part of a client that is needed to compare documents with those that are stored."""

    def list(
        self,
        retriever: Retriever,
        *,
        collection: str,
        filter: Mapping[str, Any] | None = None,  # noqa: A002  # the field's name on the wire
        limit: int = 100,
        cursor: str | None = None,
    ) -> DocumentList:
        """See `Querymill.list`."""
        ...

    def drop(self, retriever: Retriever, *, collection: str, ids: Sequence[str] = ()) -> DropResult:
        """See `Querymill.drop`."""
        ...


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far the documents are: ``size`` bytes are in, the last by this ``result`` or lost for this ``reason``.

    ``waits_for`` says why nothing has advanced, such as a provider that does not respond. ``job`` is the result of the
    whole job, with the last of its documents.
    """

    size: float
    result: Ingested | None = None
    document: str | None = None
    reason: str = ""
    waits_for: str = ""
    job: IngestResult | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """The lines of one job."""

    lines: Sequence[GoodLine[Any]]
    request: Ingest | Extend

    @property
    def size(self) -> int:
        """The length of the lines in bytes."""
        return sum(line.size for line in self.lines)

    @property
    def name(self) -> str:
        """The name of the first document, with the number of the others."""
        first, *others = self.lines
        return f"{first.name} and {len(others)} more" if others else first.name

    @property
    def names(self) -> frozenset[str]:
        """The names of the documents."""
        return frozenset(line.name for line in self.lines)


def new_packer() -> Packer[GoodLine[Any]]:
    """Return what holds lines for one job. No job holds two versions of a document."""
    return Packer(PACKED, size_of=lambda line: line.size, name_of=lambda line: line.name)


def request_of(lines: Sequence[GoodLine[Any]], ask: Ask) -> Ingest | Extend:
    """Return the request of one job."""
    return ask([line.document for line in lines])


def pack(lines: Iterable[GoodLine[Any]], ask: Ask) -> Iterator[Parcel]:
    """Cut lines into jobs, in their order."""
    return (Parcel(held, request_of(held, ask)) for held in new_packer().cut(lines))


def ingest(mill: Submits, parcels: Iterator[Parcel], *, vectors: bool = True) -> Iterator[LoadProgress]:
    """Submit documents and follow their jobs; yields as they advance. A document is in once its vectors are stored.

    Without ``vectors``, it is in once its words are, and its vectors follow. A job that stored all its documents leaves
    the board.

    Ingestion is durable: if this stops half-way, the documents that were submitted are still ingested, and
    submitting the same content again changes nothing.
    """
    held = next(parcels, None)
    flying: deque[tuple[Parcel, Followed[IngestResult]]] = deque()
    before = 0
    while held is not None or flying:
        # Two versions of one document that are in flight together may be stored in any order: the later one waits.
        names = {name for parcel, _ in flying for name in parcel.names}
        while held is not None and len(flying) < IN_FLIGHT and names.isdisjoint(held.names):
            flying.append((held, mill.submit(cast("Asks[IngestResult]", held.request))))
            names |= held.names
            held = next(parcels, None)
        parcel, job = flying.popleft()
        yield from _followed(job, parcel, before)
        yield from _arrived(mill, parcel, job, before, vectors=vectors)
        before += parcel.size


def _followed(job: Followed[Any], parcel: Parcel, before: int) -> Iterator[LoadProgress]:
    """Follow a job to its end. Yield how far it is, and what it waits for when it is put back or says nothing."""
    after, size, is_over = None, float(before), False
    while not is_over:
        last = after
        try:
            for event in job.events(timeout=QUIET_S, after=after):
                after = event.id
                if isinstance(event, Progress):
                    size = before + parcel.size * event.done / max(event.total, 1)
                    yield LoadProgress(size)
                elif isinstance(event, StageFinished) and event.state == "retrying":
                    yield LoadProgress(size, waits_for=f"{parcel.name}: {event.stage} is tried again: {event.reason}")
            is_over = True
        except TimeoutError:
            if after == last:
                yield LoadProgress(size, waits_for=f"{parcel.name}: {_open_steps(job)}")


def _open_steps(job: Followed[Any]) -> str:
    """Say what the steps of a job are at, and why those were put back that had begun before."""
    said = []
    for step in job.picture().steps:
        if not step.is_closed:
            doing = "waits for a worker" if step.state == "waiting" else "is under way"
            reasons = [attempt.reason for attempt in step.attempts if attempt.reason]
            said.append(f"{step.name} {doing}" + (f", after: {reasons[-1]}" if reasons else ""))
    return "; ".join(said) or "it ends"


def _arrived(
    mill: Submits, parcel: Parcel, job: Followed[IngestResult], before: int, *, vectors: bool
) -> Iterator[LoadProgress]:
    """Say what became of each document, once its vectors are stored if these are waited for."""
    try:
        result = job.result(timeout=5)
    except JobEnded as error:
        yield from _outcomes(parcel, [(None, error.reason)] * len(parcel.lines), before)
        return
    lost = ""
    for embedding in map(mill.job, result.embedding_jobs if vectors else ()):
        yield from _followed(embedding, parcel, before)
        lost = lost or _why_not_embedded(embedding)
    each = outcome_of_each(parcel, result)
    reasons = [entry.reason if entry.outcome == "failed" else lost for entry in each]
    outcomes = [(None if why else entry, why) for entry, why in zip(each, reasons, strict=True)]
    yield from _outcomes(parcel, outcomes, before, result)
    if result.complete:  # the documents of a large file must not fill the board until their jobs expire
        job.release()


def outcome_of_each(parcel: Parcel, result: IngestResult) -> Sequence[IngestedDocument]:
    """Return the outcome of each line. A document that was dropped while its job waited has been taken out of it."""
    if len(result.documents) == len(parcel.lines):
        return result.documents
    known = {entry.document: entry for entry in result.documents}
    return [known.get(line.name) or IngestedDocument(document=line.name, outcome="forgotten") for line in parcel.lines]


def _outcomes(
    parcel: Parcel, outcomes: Sequence[tuple[Ingested | None, str]], before: int, job: IngestResult | None = None
) -> Iterator[LoadProgress]:
    size = before
    for number, (line, (result, reason)) in enumerate(zip(parcel.lines, outcomes, strict=True), start=1):
        size += line.size
        place = f"{line.unit} {line.number}: {reason}" if reason else ""
        is_last = number == len(parcel.lines)
        yield LoadProgress(size, result, document=line.name, reason=place, job=job if is_last else None)


def _why_not_embedded(embedding: Followed[Any]) -> str:
    """Tell a document that is only stored from one whose vectors are stored too."""
    try:
        embedding.result(timeout=5)
    except JobEnded as error:
        return f"stored and searchable by text, but embedding failed: {error.reason}"
    return ""
