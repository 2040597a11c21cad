"""The page of one job: what became of it, where its time went, what is missing, its answer and its hits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.absences import may_ask_why_not
from querymill.gateway.console.copying import copies_of
from querymill.gateway.console.drawing import draw
from querymill.gateway.console.findings import facts_of, missed_of
from querymill.gateway.console.hits import PAGE, NumberedHit, answer_pieces, answer_so_far, hits_of, read_result
from querymill.gateway.console.rendering import address, read_form, render, see
from querymill.gateway.console.search import KINDS as FORMS
from querymill.gateway.http import audit, events, jobs
from querymill.gateway.http.callbacks import callback_of
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.job_search import find_jobs
from querymill.gateway.http.problems import not_found
from querymill.gateway.http.scopes import REQUESTS, scope_of_kind
from querymill.gateway.http.submitting import submit_job
from querymill.gateway.http.waiting import cancel, look_at, look_back_at, need_to_end, shows_requests
from querymill.keys import Scope
from querymill.presenting.explain.degradations import MissingPart, missing
from querymill.presenting.explain.verdict import verdict
from querymill.presenting.explain.waterfall import waterfall
from querymill_shared.board import Picture, StreamedEvent
from querymill_shared.contracts.answer import WrittenAnswer
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.feedback import GiveFeedback
from querymill_shared.contracts.jobs import AnyResult
from querymill_shared.contracts.search import AnySearch, AnySearchResult

router = APIRouter()

#: Jobs that are looked at for one whose id begins with a prefix; events that are shown raw.
LATEST, RAW_EVENTS = 2_000, 60
ID_CHARS: Final = 32
#: Kinds that may be run again by a button: they read, and change nothing.
AGAIN: Final = frozenset(
    kind for kind, asked in REQUESTS.items() if scope_of_kind(kind) is Scope.SEARCH and asked is not GiveFeedback
)


@dataclass(frozen=True, slots=True)
class SoFar:
    """What a job has told before its end: its best hits, how far its steps are, the answer so far."""

    hits: Sequence[dict[str, Any]]
    total: int
    after: str
    progress: Sequence[dict[str, Any]]
    answer: str


def so_far(told: Sequence[StreamedEvent]) -> SoFar:
    """Read what a job has told."""
    hits: dict[str, Any] = {}
    progress: dict[str, dict[str, Any]] = {}
    answer: list[dict[str, Any]] = []
    for each in told:
        if each.type in ("hits", "progress", "answer"):
            body = json.loads(each.body)
            if each.type == "hits":
                hits = body
            elif each.type == "progress":
                progress[body["stage"]] = body
            else:
                answer.append(body)
    return SoFar(
        hits.get("hits", ()),
        hits.get("total", 0),
        hits.get("after_stage", ""),
        list(progress.values()),
        answer_so_far(answer),
    )


@router.get("/console/jobs/{job_id}")
async def show_job(request: Request, job_id: str) -> Response:
    """Show a job. A unique beginning of its id leads to it."""
    if len(job_id) != ID_CHARS:
        return await _by_prefix(request, job_id)
    try:
        found = await look_at(request, job_id)
    except UnknownJob:
        return await _show_past(request, job_id)
    board = context_of(request).mill.board
    told = await board.events(job_id)
    picture = (await board.picture(job_id)).for_caller()
    text = await board.result(job_id) if picture.record.state == "done" else None
    start = _number(request, "from")
    now = await context_of(request).now()
    page = job_values(picture, told, text, start, str(request.base_url).rstrip("/"), now)
    callback = await callback_of(request, picture.record)
    return render(
        request, "job.html", **page, callback=callback, last_event=found.last, now=now, opened=_number(request, "hit"),
        may_judge=may_judge(picture, page["result"]) and shows_requests(request), judged=_number(request, "judged"),
    )  # fmt: skip


async def _show_past(request: Request, job_id: str) -> Response:
    """Show what a job did whose question and result are gone."""
    picture = await look_back_at(request, job_id)
    settings, now = context_of(request).settings, await context_of(request).now()
    page = job_values(picture, (), None, 0, str(request.base_url).rstrip("/"), now)
    ended = picture.record.ended or picture.record.created
    gone: dict[str, Any] = {
        "gone_at": min(now, ended + settings.querymill_result_ttl_s),
        "kept_until": ended + settings.querymill_trail_days * 86_400,
    }
    unasked: dict[str, Any] = {"callback": None, "may_judge": False, "judged": 0}
    return render(request, "job.html", **page, **gone, **unasked, last_event="", now=now, opened=0)


def _number(request: Request, name: str) -> int:
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0


async def _by_prefix(request: Request, prefix: str) -> Response:
    wanted = prefix.lower()
    fitting: list[str] = []
    if 4 <= len(wanted) < ID_CHARS and set(wanted) <= set("0123456789abcdef"):
        found = await find_jobs(request, {}, limit=LATEST)
        fitting = [record.job_id for record in found.records if record.job_id.startswith(wanted)]
    if len(fitting) == 1:
        return see(address("jobs", fitting[0]))
    return render(request, "no_job.html", 404, wanted=prefix[:100], fitting=fitting[:20])


def job_values(
    picture: Picture, told: Sequence[StreamedEvent], text: str | None, start: int, gateway: str, now: float
) -> dict[str, Any]:
    """Return what the page of a job shows."""
    record = picture.record
    result = read_result(text)
    fall = waterfall(picture, now=now)
    answer: WrittenAnswer | None = getattr(result, "answer", None)
    shown: list[NumberedHit] = [] if result is None else hits_of(result, record.job_id, start=start)
    numbers = [citation.number for citation in answer.citations] if answer else []
    return {
        "record": record,
        "drawing": draw(fall),
        "speed": verdict(fall),
        "missing": _missing(picture, result),
        "question": _question(picture, result),
        "copies": copies_of(picture, result, gateway) if picture.asked else [],
        "edit": _form_filled(picture, "job"),
        "ask_on": _form_filled(picture, "after") if text and record.state == "done" else "",
        "may_run_again": picture.asked is not None and picture.asked.kind in AGAIN,
        "result": result,
        "answer": answer,
        "pieces": answer_pieces(answer.text, numbers) if answer else [],
        "hits": shown,
        "facts": facts_of(result) if result else [],
        "missed": missed_of(result),
        "asks_why_not": picture.asked is not None and may_ask_why_not(picture.asked),
        "start": start,
        "has_hits": bool(shown) or start > 0,
        "found": len(getattr(result, "results", ())),
        "page_size": PAGE,
        "so_far": so_far(told),
        "result_bytes": len(text.encode()) if text else 0,
        "raw": [(each.event_id, each.type, each.body) for each in told[-RAW_EVENTS:]],
        "told": len(told),
    }


def may_judge(picture: Picture, result: AnyResult | None) -> bool:
    """Return whether hits can be judged: those of a search that is done."""
    return isinstance(picture.asked, AnySearch) and isinstance(result, AnySearchResult)


def _missing(picture: Picture, result: AnyResult | None) -> tuple[MissingPart, ...]:
    record, asked = picture.record, picture.asked
    deadline_s = None if record.deadline is None else round(record.deadline - record.created, 1)
    branches = asked.steps if isinstance(asked, AnySearch) else ()
    return missing(result.degraded if result else (), branches=branches, deadline_s=deadline_s)


def _form_filled(picture: Picture, how: str) -> str:
    """Return the address of the form that is filled with what a search asked, "" if there is none.

    With ``job`` it asks the same again, with ``after`` the next question of the chat.
    """
    asked = picture.asked
    return address("search", asked.kind, **{how: picture.record.job_id}) if asked and asked.kind in FORMS else ""


def _question(picture: Picture, result: AnyResult | None) -> str:
    asked = picture.asked
    return str(getattr(asked, "query", "") or getattr(result, "query", "") or "")


@router.get("/console/jobs/{job_id}/events")
async def follow(request: Request, job_id: str) -> Response:
    """Follow the job's events, as `GET /v1/jobs/{id}/events` does for those who send a key."""
    after = request.query_params.get("after")
    return await events.events(request, job_id, after, 0, request.headers.get("last-event-id"))


@router.get("/console/jobs/{job_id}/json")
async def as_json(request: Request, job_id: str) -> Response:
    """Return the job as `GET /v1/jobs/{id}` does."""
    return await jobs.show_job(request, job_id)


@router.get("/console/jobs/{job_id}/result")
async def download(request: Request, job_id: str) -> Response:
    """Return the stored result as a file."""
    await look_at(request, job_id)
    text = await context_of(request).mill.board.result(job_id)
    if text is None:
        raise not_found()
    name = {"Content-Disposition": f'attachment; filename="{job_id}.json"'}
    return Response(text, headers=name, media_type="application/json")


@router.post("/console/jobs/{job_id}/cancel")
async def cancel_job(request: Request, job_id: str) -> Response:
    """Cancel the job."""
    await read_form(request)
    await need_to_end(request, await look_at(request, job_id))
    is_cancelled = await cancel(request, job_id)
    audit.note(caller_of(request), "cancel", request_id=request.state.request_id, job=job_id, cancelled=is_cancelled)
    return see(address("jobs", job_id))


@router.post("/console/jobs/{job_id}/again")
async def run_again(request: Request, job_id: str) -> Response:
    """Submit what the job asked as a new job."""
    await read_form(request)
    await look_at(request, job_id)
    picture = (await context_of(request).mill.board.picture(job_id)).for_caller()
    asked = picture.asked
    if asked is None or asked.kind not in AGAIN:
        raise not_found()
    again = await submit_job(request, asked)
    return see(address("jobs", again.id))
