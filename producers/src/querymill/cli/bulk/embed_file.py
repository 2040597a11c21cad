"""Embedding a file of texts: cut it into jobs, keep a few in flight, take their vectors in the file's order.

A backfill that is killed and run again cuts the file at the same places, so it finds its jobs again, under way
or done, and embeds none twice.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pydantic

from querymill.broken_rules import rule_broken
from querymill.cli.bulk.appended_file import UnusableFile
from querymill.cli.bulk.vector_file import VectorFile
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import BadLine
from querymill_shared.contracts.embed import EmbeddedText, EmbedResult, EmbedTexts, TextId, TextToEmbed
from querymill_shared.contracts.errors import JobEnded, UnknownJob
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Name
from querymill_shared.contracts.jobs import fingerprint

#: Texts per job: a result of about 2 MB where vectors have 1,536 dimensions.
TEXTS_PER_JOB = 256
#: Jobs in flight at once: enough to keep the workers busy, few enough for the board.
IN_FLIGHT = 8
#: How often a job is submitted again if its result expired before it was read.
HANDED_OVER = 3


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A stretch of the file: its lines from ``first`` to ``last``, the last ending at byte ``end``."""

    first: int
    last: int
    end: int
    texts: tuple[TextToEmbed, ...]
    bad: tuple[BadLine, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """What is asked for with every text of the file."""

    collection: str
    input_type: str = "passage"
    into: Literal["result", "table"] = "result"

    def request(self, piece: FileSlice) -> EmbedTexts:
        """Make the request for the vectors of a piece.

        Raises:
            pydantic.ValidationError: The collection or the input type breaks a rule.
        """
        return EmbedTexts.model_validate({
            "collection": self.collection, "input_type": self.input_type, "into": self.into, "texts": piece.texts,
        })  # fmt: skip


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    """How far the file is: ``size`` bytes are through, and what became of the piece that ended there, if one did.

    ``there`` counts its texts whose vectors were in the file before; ``reason`` says why others have none.
    """

    size: float
    piece: FileSlice | None = None
    there: int = 0
    result: EmbedResult | None = None
    reason: str = ""

    @property
    def refused(self) -> int:
        """Texts of a finished job that the provider refused."""
        if self.result is None or not self.reason:
            return 0
        return self.result.total - (len(self.result.vectors) or self.result.written + self.result.unchanged)


class _Line(pydantic.BaseModel):
    """A line of the file; other fields are ignored."""

    id: TextId = pydantic.Field(alias="_id")
    text: EmbeddedText
    document: Name | None = None


def read_pieces(path: Path, *, texts_per_job: int = TEXTS_PER_JOB) -> Iterator[FileSlice]:
    """Cut a file of JSON lines into pieces with a fixed number of good lines; blank lines are skipped.

    Raises:
        OSError: The file cannot be read.
    """
    lines_of: dict[str, int] = {}
    texts: list[TextToEmbed] = []
    bad: list[BadLine] = []
    first, number, end = 1, 0, 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            end += len(line)
            if not line.strip():
                continue
            found = _parsed(number, line, lines_of)
            if isinstance(found, BadLine):
                bad.append(found)
            else:
                texts.append(found)
            if len(texts) == texts_per_job:
                yield FileSlice(first, number, end, tuple(texts), tuple(bad))
                texts, bad, first = [], [], number + 1
    if texts or bad:
        yield FileSlice(first, number, end, tuple(texts), tuple(bad))


def _parsed(number: int, line: bytes, lines_of: dict[str, int]) -> TextToEmbed | BadLine:
    try:
        read = _Line.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        return BadLine(number, rule_broken(error))
    earlier = lines_of.setdefault(read.id, number)
    if earlier != number:
        return BadLine(number, f"_id: must be unique; line {earlier} has the same")
    return TextToEmbed(id=read.id, text=read.text, document=read.document)


@dataclass(frozen=True, slots=True)
class _Handed:
    """A submitted request; ``turn`` counts the jobs that were made of it, from 0."""

    request: EmbedTexts
    job: Job[EmbedResult]
    turn: int


class Backfill:
    """Embeds pieces of a file into ``out``, or into the table if there is no ``out``."""

    def __init__(self, mill: Querymill, order: EmbedOptions, out: VectorFile | None) -> None:
        self._mill = mill
        self._order = order
        self._out = out
        self._model: str | None = None

    def run(self, pieces: Iterable[FileSlice]) -> Iterator[EmbedProgress]:
        """Embed pieces in their order; yields as they advance.

        Raises:
            UnusableFile: The workers' model is another than that of the vectors before.
        """
        waiting = iter(pieces)
        flying: deque[tuple[FileSlice, _Handed | None]] = deque()
        before = 0
        while True:
            while len(flying) < IN_FLIGHT and (piece := next(waiting, None)) is not None:
                flying.append((piece, self._launched(piece)))
            if not flying:
                return
            piece, handed = flying.popleft()
            if handed is None:
                yield EmbedProgress(piece.end, piece, there=len(piece.texts))
            else:
                for share in _shares(handed.job):
                    yield EmbedProgress(before + (piece.end - before) * share)
                yield self._landed(piece, handed)
            before = piece.end

    def _launched(self, piece: FileSlice) -> _Handed | None:
        if self._there(piece) == len(piece.texts):
            return None
        # The whole piece, even if a part of it is embedded: an earlier run may have submitted exactly this job.
        return self._handed(self._order.request(piece))

    def _handed(self, request: EmbedTexts, *, turn: int = 0) -> _Handed:
        """Submit, or join the job of an earlier run; jobs that were lost are skipped."""
        while True:
            job = self._mill.submit(request, idempotency_key=f"embed {fingerprint(request)} {turn}")
            if job.is_new or not _is_lost(job):
                return _Handed(request, job, turn)
            turn += 1

    def _landed(self, piece: FileSlice, handed: _Handed) -> EmbedProgress:
        there = self._there(piece)
        try:
            job, result = self._fetched(handed)
        except JobEnded as error:
            return EmbedProgress(piece.end, piece, there, reason=error.reason)
        if self._out is not None:
            self._refuse_other_model(result)
            self._out.write((text.id, result.embedding(text.id)) for text in piece.texts if text.id in result.vectors)
        # Fetched results are deleted: thousands of vectors must not fill the board until they expire.
        job.release()
        reason = "; ".join(missing.reason for missing in result.degraded if missing.code == "provider_refused")
        return EmbedProgress(piece.end, piece, there, result, reason)

    def _fetched(self, handed: _Handed) -> tuple[Job[EmbedResult], EmbedResult]:
        for _ in range(HANDED_OVER):
            try:
                return handed.job, handed.job.result()
            except UnknownJob:  # it expired, or another run fetched and deleted it
                handed = self._handed(handed.request, turn=handed.turn + 1)
        raise JobEnded(handed.job.id, "expired before it could be read (QUERYMILL_RESULT_TTL_S)")

    def _there(self, piece: FileSlice) -> int:
        return 0 if self._out is None else sum(text.id in self._out.ids for text in piece.texts)

    def _refuse_other_model(self, result: EmbedResult) -> None:
        if self._model not in (None, result.model):
            raise UnusableFile(
                f"the workers' model changed from {self._model} to {result.model} during the run;"
                " the vectors of another model belong in another file"
            )
        self._model = result.model


def _shares(job: Job[EmbedResult]) -> Iterator[float]:
    """Follow a job to its end; yields the share of it that is done."""
    with suppress(UnknownJob):  # it expired; fetching its result will find that out, too
        for event in job.events():
            if isinstance(event, Progress):
                yield event.done / event.total


def _is_lost(job: Job[EmbedResult]) -> bool:
    """Return whether the job of an earlier run can no longer give a result."""
    try:
        return job.picture().record.state in ("failed", "cancelled", "dead")
    except UnknownJob:
        return True
