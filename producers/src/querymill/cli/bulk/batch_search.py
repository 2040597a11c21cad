"""Run many searches from a file, a few at a time. Each result is a line of another file; a later run resumes."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pydantic

from querymill.broken_rules import rule_broken
from querymill.cli.bulk.appended_file import AppendedFile, UnusableFile
from querymill.cli.bulk.in_flight import each_in_flight
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import BadLine, numbered_lines
from querymill_shared.contracts.errors import JobEnded, Overloaded, detail_of
from querymill_shared.contracts.search import AnySearch

#: The lane of a question that names none: questions of people come first.
LANE: Final = "bulk"
#: A search of a batch may wait for a provider's limit, in seconds, if it names no deadline of its own.
DEADLINE_S: Final = 600.0
#: How long a result is waited for beyond its deadline, in seconds.
_SETTLED_WITHIN_S: Final = 30.0


class _WrongLine(Exception):
    """Raised for a line that is JSON, but no question of this batch; the message names the rule."""


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """A line that can be asked. ``fingerprint`` tells it from another question with the same id."""

    id: str
    request: AnySearch
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Answered:
    """How a question ended: with a result as JSON, or with the reason why there is none."""

    question: BatchQuestion
    job_id: str
    result: str | None = None
    reason: str = ""

    @property
    def line(self) -> str:
        """One line of the file of results."""
        about = {"_id": self.question.id, "asked": self.question.fingerprint, "job_id": self.job_id}
        if self.result is None:
            return json.dumps(about | {"reason": self.reason}, ensure_ascii=False) + "\n"
        # The result is JSON already, and may be large.
        return f'{json.dumps(about, ensure_ascii=False)[:-1]}, "result": {self.result}}}\n'


def read_questions(
    path: Path, fixed: Mapping[str, Any], make: Callable[[dict[str, Any]], AnySearch]
) -> Iterator[BatchQuestion | BadLine]:
    """Read a file of JSON lines: the fields of a search, and ``_id``, by default the line's number.

    ``fixed`` are the fields that no line may say otherwise: its kind, and what is searched.

    Raises:
        OSError: the file cannot be read.
    """
    seen: set[str] = set()
    with path.open("rb") as stream:
        for number, line in numbered_lines(stream):
            if line is None or not line.strip():
                if line is None:
                    yield BadLine(number, "too long")
                continue
            try:
                question = _question(number, line, fixed, make)
            except _WrongLine as error:
                yield BadLine(number, str(error))
                continue
            except (ValueError, RecursionError) as error:
                yield BadLine(number, rule_broken(error, below=str(fixed["kind"])))
                continue
            if question.id in seen:
                yield BadLine(number, f"_id: {question.id!r} stands on an earlier line too")
                continue
            seen.add(question.id)
            yield question


def _question(
    number: int, line: bytes, fixed: Mapping[str, Any], make: Callable[[dict[str, Any]], AnySearch]
) -> BatchQuestion:
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise _WrongLine("must be a JSON object")
    name = fields.pop("_id", number)
    for name_of, said in fixed.items():
        if fields.get(name_of, said) != said:
            raise _WrongLine(f"{name_of}: the command says {', '.join(said) if isinstance(said, list) else said}")
    request = make({"lane": LANE, "deadline": DEADLINE_S} | fields | dict(fixed))
    asked = json.dumps(fields, sort_keys=True, ensure_ascii=True).encode()
    return BatchQuestion(str(name), request, hashlib.blake2b(asked, digest_size=8).hexdigest())


def ask_all(mill: Querymill, questions: Iterable[BatchQuestion], *, in_flight: int) -> Iterator[Answered]:
    """Ask the questions, at most ``in_flight`` at a time. Yield how each ended, in the order in which they end.

    A fleet that has too much to do is asked again when it says so.
    """
    return each_in_flight(lambda question: _ask(mill, question), questions, in_flight=in_flight)


def _ask(mill: Querymill, question: BatchQuestion) -> Answered:
    job = submit_when_free(mill, question.request)
    try:
        result = job.result(timeout=question.request.deadline + _SETTLED_WITHIN_S)
    except (JobEnded, TimeoutError) as error:
        return Answered(question, job.id, reason=detail_of(error))
    return Answered(question, job.id, result=result.model_dump_json())


def submit_when_free(mill: Querymill, request: AnySearch) -> Job[Any]:
    """Submit a search, as soon as the fleet has less to do if it has too much."""
    while True:
        try:
            return mill.submit(request)
        except Overloaded as full:
            time.sleep(full.retry_after_s)


class ResultsFile(AppendedFile):
    """The results of a batch, of which those of an earlier run stay. ``answered`` holds their ids and fingerprints.

    A question that failed is asked again; its later line counts.
    """

    BEGINNING = b'{"_id": '
    WHAT = "a batch's results"

    def __init__(self, path: Path) -> None:
        """See `AppendedFile`."""
        self.answered: dict[str, str] = {}
        super().__init__(path)

    def holds(self, question: BatchQuestion) -> bool:
        """Whether this very question has a result."""
        return self.answered.get(question.id) == question.fingerprint

    def write(self, answered: Answered) -> None:
        """Append one line, which is on the disk when this returns."""
        self.append(answered.line.encode())

    def enter(self, line: bytes, place: str) -> None:
        """Take note of a result of an earlier run."""
        try:
            written = _Written.model_validate_json(line)
        except pydantic.ValidationError as error:
            raise UnusableFile(f"{place} is no result of a batch") from error
        if written.has_result:
            self.answered[written.id] = written.asked


class _Written(pydantic.BaseModel):
    """What a line of an earlier run must say."""

    id: str = pydantic.Field(alias="_id")
    asked: str
    result: dict[str, Any] | None = None

    @property
    def has_result(self) -> bool:
        return self.result is not None
