"""Recordings: the searches of a day in a file, with what each found and took, to be asked again with other settings.

A line is a search as JSON: its ``request``, and if they are known its id as ``_id``, the time ``at`` which it was
asked, and its ``outcome``. A file that another program wrote may have the requests alone.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, ClassVar, Final

import pydantic

from querymill.broken_rules import rule_broken
from querymill.cli.bulk.appended_file import AppendedFile, UnusableFile
from querymill.ingesting.jsonl import BadLine, numbered_lines
from querymill.presenting.feedback import judged_part
from querymill.presenting.hit import HitView, views_of
from querymill_evaluation.feedback_sets import judged_id
from querymill_shared.board import Picture
from querymill_shared.contracts.fields import Contract
from querymill_shared.contracts.kinds import SEARCHES
from querymill_shared.contracts.search import AnySearch, AnySearchResult, Search

#: So many hits of a search are compared.
DEPTH: Final = 10
#: The kinds of requests that only read, and may be asked again.
ASKED_AGAIN: Final = frozenset((*SEARCHES, Search.model_fields["kind"].default))


class SearchOutcome(Contract):
    """What a search found, best first, and what that took.

    ``found`` names the first ten as `parts_found` does. ``ms`` passed from its submission to its end by the board's
    clock. ``cost_nanos`` is what its calls of models with a price cost, in billionths of the ``currency``.
    """

    found: tuple[str, ...]
    ms: float
    calls: int = 0
    tokens: int = 0
    cost_nanos: int = 0
    currency: str = ""
    complete: bool = True


class RecordedSearch(Contract):
    """A line of a recording."""

    id: Annotated[str, pydantic.Field(alias="_id", min_length=1)]
    at: datetime | None = None
    request: Annotated[AnySearch, pydantic.Field(discriminator="kind")]
    outcome: SearchOutcome | None = None

    @property
    def line(self) -> bytes:
        """The line of the file, with the fields of the request that are not its defaults."""
        asked = {"kind": self.request.kind} | self.request.model_dump(mode="json", exclude_defaults=True)
        beside = self.model_dump(mode="json", exclude={"id", "request"}, exclude_none=True)
        return json.dumps({"_id": self.id, "request": asked} | beside, ensure_ascii=False).encode() + b"\n"


class RecordingFile(AppendedFile):
    """The recording of a day, to which further searches are appended. ``held`` has the ids of those it holds."""

    BEGINNING: ClassVar[bytes] = b'{"_id": '
    WHAT: ClassVar[str] = "a recording"

    def __init__(self, path: Path) -> None:
        """See `AppendedFile`. What people asked is in it: only its owner may read a file that is created."""
        self.held: set[str] = set()
        if not path.exists():
            path.touch(mode=0o600)
        super().__init__(path)

    def enter(self, line: bytes, place: str) -> None:
        """Take note of a search that is recorded."""
        try:
            self.held.add(_Known.model_validate_json(line).id)
        except pydantic.ValidationError as error:
            raise UnusableFile(f"{place} is no line of a recording") from error


class _Known(pydantic.BaseModel):
    id: str = pydantic.Field(alias="_id")


def recorded(picture: Picture, result: AnySearchResult) -> RecordedSearch | None:
    """Return a search that is done as it is recorded, or None if that is not what a job was."""
    record, asked = picture.record, picture.asked
    if not isinstance(asked, AnySearch) or record.ended is None:
        return None
    at = datetime.fromtimestamp(record.created, UTC)
    outcome = outcome_of(picture, result)
    return RecordedSearch.model_validate({"_id": record.job_id, "at": at, "request": asked, "outcome": outcome})


def outcome_of(picture: Picture, result: AnySearchResult) -> SearchOutcome:
    """Return what a search found and took that is done."""
    record, priced = picture.record, [cost for cost in result.costs if cost.cost_nanos is not None]
    return SearchOutcome(
        found=parts_found(result),
        ms=round(((record.ended or record.created) - record.created) * 1000, 1),
        calls=result.usage.get("provider_calls", 0),
        tokens=result.usage.get("tokens", 0),
        cost_nanos=sum(cost.cost_nanos or 0 for cost in priced),
        currency=next((cost.currency for cost in priced), ""),
        complete=result.complete,
    )


def parts_found(result: AnySearchResult, *, depth: int = DEPTH) -> tuple[str, ...]:
    """Return what a search found as judgements name it, each once, best first: pages, messages, sessions or files.

    Two passages of page 3 of a report are the one part "r1/3". What is found among all kinds has kind and collection in
    front.
    """
    return tuple(dict.fromkeys(map(_part_named, views_of(result))))[:depth]


def _part_named(view: HitView) -> str:
    if view.place is None:
        return view.key
    part = judged_id(view.place.kind, view.place.document, judged_part(view.place)) or view.key
    return part if view.joint is None else f"{view.joint.kind}/{view.joint.collection}/{part}"


def read_recording(path: Path) -> Iterator[RecordedSearch | BadLine]:
    """Read a recording. A search without an id has the number of its line. A line that breaks a rule is a `BadLine`.

    Raises:
        OSError: The file cannot be read.
    """
    seen: set[str] = set()
    with path.open("rb") as stream:
        for number, line in numbered_lines(stream):
            if line is not None and not line.strip():
                continue
            search = BadLine(number, "too long") if line is None else _read_line(number, line)
            if isinstance(search, RecordedSearch):
                if search.id in seen:
                    search = BadLine(number, f"_id: {search.id!r} stands on an earlier line too")
                else:
                    seen.add(search.id)
            yield search


def _read_line(number: int, line: bytes) -> RecordedSearch | BadLine:
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or not isinstance(fields.get("request"), dict):
            return BadLine(number, 'must be a JSON object with a "request"')
        kind = fields["request"].get("kind")
        if kind not in ASKED_AGAIN:
            return BadLine(number, f"request.kind: must be a search ({', '.join(sorted(ASKED_AGAIN))}), is {kind!r}")
    except (ValueError, RecursionError) as error:
        return BadLine(number, rule_broken(error))
    try:
        return RecordedSearch.model_validate({"_id": str(number)} | fields)
    except pydantic.ValidationError as error:
        return BadLine(number, rule_broken(error, below=f"request.{kind}"))
