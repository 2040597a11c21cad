"""The page of jobs: filters as links, newest first, one page at a time. Nothing is counted."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import address, render
from querymill.gateway.console.wording import short
from querymill.gateway.http.context import context_of
from querymill.gateway.http.job_search import ANY_JOB, Marked, Wanted, find_jobs
from querymill.gateway.http.job_shapes import State
from querymill.gateway.http.scopes import REQUESTS
from querymill_shared.board import Record
from querymill_shared.contracts.fields import Lane

router = APIRouter()

PAGE: Final = 50
#: A job is done, and its result lacks a part: for who looks for it that is a state.
INCOMPLETE: Final = "incomplete"
STATES: Final = (*get_args(State), INCOMPLETE)
#: The kinds of request that have a question. Those of others may be long.
_QUESTIONS: Final = frozenset(kind for kind, asked in REQUESTS.items() if "query" in asked.model_fields)
#: Characters that are searched for, jobs of one search that are looked at, and shown.
MAX_WORDS, LOOKED_AT, SHOWN = 200, 2_000, 200
FILTERS: Final = ("state", "kind", "collection", "lane")
#: A word that is looked for among the labels, or as the idempotency key, before any question is read.
_LABEL_WORD: Final = re.compile(r"(?P<name>[A-Za-z][\w-]{0,31}):(?P<value>\S.{0,99})")
_KEY_WORD: Final = "key:"


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in the list. ``subject`` is "" where the board has no text for it, or lists must not show it."""

    record: Record
    subject: str = ""

    @property
    def took_s(self) -> float | None:
        """How long it took, in seconds, None if it is not over."""
        return None if self.record.ended is None else self.record.ended - self.record.created


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """A value of a filter, and the page that has it chosen."""

    name: str
    at: str
    is_chosen: bool


@router.get("/console/jobs")
async def show_jobs(request: Request) -> Response:
    """List jobs that the visitor may see."""
    given = {name: request.query_params.get(name) or None for name in FILTERS}
    before = request.query_params.get("before")
    words = (request.query_params.get("q") or "").strip()[:MAX_WORDS]
    wanted: Wanted = given | ({"state": "done", "is_complete": False} if given["state"] == INCOMPLETE else {})
    marked = marked_in(words)
    is_by_words = bool(words) and marked == ANY_JOB
    found = await find_jobs(request, wanted, limit=LOOKED_AT if is_by_words else PAGE, before=before, marked=marked)
    rows = await rows_of(request, found.records)
    if is_by_words:
        rows = [row for row in rows if is_meant(row, words)][:SHOWN]
    asked: dict[str, str | None] = given | {"q": words or None}
    collections = sorted({row.record.collection for row in rows} | {given["collection"] or ""} - {""})
    kinds = sorted({row.record.kind for row in rows} | {given["kind"] or ""} - {""})
    return render(
        request,
        "jobs.html",
        rows=rows,
        words=words,
        choices={
            "state": choices(asked, "state", STATES),
            "kind": choices(asked, "kind", kinds),
            "collection": choices(asked, "collection", [name for name in collections if name][:12]),
            "lane": choices(asked, "lane", [lane.value for lane in Lane]),
        },
        chosen={name: value for name, value in asked.items() if value},
        without={name: address("jobs", **(asked | {name: None})) for name in asked},
        older=address("jobs", **asked, before=found.next) if found.next else None,
        is_first=before is None,
        first=address("jobs", **asked),
        looked_at=found.looked_at,
        back_to=found.back_to.timestamp() if found.back_to else None,
        now=await context_of(request).now(),
        gateway=str(request.base_url).rstrip("/"),
    )


def marked_in(words: str) -> Marked:
    """Return what is looked for by a label, as session:42, or by an idempotency key, as key:turn-42.

    >>> marked_in("session:42").labels
    {'session': '42'}
    >>> marked_in("key:turn-42").idempotency_key
    'turn-42'
    >>> marked_in("how did margins develop")
    Marked(labels={}, idempotency_key=None)
    """
    if words.startswith(_KEY_WORD) and (key := words.removeprefix(_KEY_WORD).strip()):
        return Marked(idempotency_key=key)
    found = _LABEL_WORD.fullmatch(words)
    return ANY_JOB if found is None else Marked({found["name"]: found["value"]})


async def rows_of(request: Request, records: Sequence[Record]) -> list[JobRow]:
    """Return the rows, with the beginning of what was asked, as far as the board knows it and lists may show it."""
    context = context_of(request)
    has_question = [record for record in records if record.kind in _QUESTIONS]
    if context.settings.querymill_console_hide_questions or not has_question:
        return [JobRow(record) for record in records]
    asked = await context.mill.board.requests([record.leader or record.job_id for record in has_question])
    subjects = {record.job_id: subject_of(text) for record, text in zip(has_question, asked, strict=True)}
    return [JobRow(record, subjects.get(record.job_id, "")) for record in records]


def is_meant(row: JobRow, words: str) -> bool:
    """Return whether a job's id begins with the words, or its question, kind, collection or reason has them all.

    Of a question only what the list shows is searched: its first 80 characters.
    """
    record = row.record
    text = " ".join((row.subject, record.kind, record.collection, record.reason)).casefold()
    return record.job_id.startswith(words.lower()) or all(word in text for word in words.casefold().split())


def subject_of(asked: str) -> str:
    """Return the beginning of the question in a request, "" if it has none."""
    fields = json.loads(asked) if asked else {}
    return short(str(fields.get("query") or ""))


def choices(given: dict[str, str | None], name: str, values: list[str] | tuple[str, ...]) -> list[FilterChoice]:
    """Return the values of a filter with the pages that have one of them chosen; all other filters stay.

    >>> [choice.at for choice in choices({"state": "dead", "kind": "files"}, "state", ("done",))]
    ['/console/jobs?kind=files', '/console/jobs?state=done&kind=files']
    """
    every = FilterChoice("any", address("jobs", **(given | {name: None})), given[name] is None)
    return [
        every,
        *(FilterChoice(each, address("jobs", **(given | {name: each})), given[name] == each) for each in values),
    ]
