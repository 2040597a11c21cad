"""The page of dead jobs: grouped by why they were given up, to be replayed or dropped."""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import address, read_form, render, see
from querymill.gateway.http import audit
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.job_search import records_of
from querymill.gateway.http.problems import invalid
from querymill.keys import Scope
from querymill_shared.board import Record

router = APIRouter()

#: Dead jobs that are looked at.
LATEST: Final = 200
_PARTICULARS: Final = re.compile(r"[0-9a-f]{12,}|\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Dead jobs of one kind with one reason, but for numbers and names in it."""

    kind: str
    reason: str
    rows: tuple[Record, ...]

    @property
    def reasons_differ(self) -> bool:
        """Whether some have another reason than the heading says."""
        return any(row.reason != self.reason for row in self.rows)


def groups(records: Iterable[Record]) -> list[DeadLetterGroup]:
    """Group dead jobs, the largest group first."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.kind, _PARTICULARS.sub("…", record.reason)), []).append(record)
    return sorted(
        (DeadLetterGroup(kind, rows[0].reason, tuple(rows)) for (kind, _), rows in found.items()),
        key=lambda group: -len(group.rows),
    )


@router.get("/console/dead")
async def show_dead(request: Request) -> Response:
    """List what was given up for good."""
    need(caller_of(request), Scope.OPERATE)
    records = await _dead(request)
    done = request.query_params.get("done", "")
    return render(
        request,
        "dead.html",
        groups=groups(records),
        now=await context_of(request).now(),
        done=done if done in ("replay", "drop") else "",
        number=request.query_params.get("number", ""),
    )


async def _dead(request: Request) -> list[Record]:
    caller = caller_of(request)
    listed = await context_of(request).mill.board.dead(limit=LATEST)
    records = await records_of(request, listed)
    return [each for each in records if each is not None and each.state == "dead" and caller.sees(each.collection)]


@router.post("/console/dead")
async def act(request: Request) -> Response:
    """Replay or drop the dead jobs that were chosen."""
    need(caller_of(request), Scope.OPERATE)
    fields = await read_form(request)
    action, chosen = fields.get("do", [""])[0], set(fields.get("job", ()))
    if action not in ("replay", "drop", "ask"):
        raise invalid(("do", "must be replay or drop"))
    rows = [record for record in await _dead(request) if record.job_id in chosen]
    if action == "ask":
        return render(request, "drop_dead.html", rows=rows, now=await context_of(request).now())
    number = sum([await _done(request, action, record) for record in rows])
    back = fields.get("back", [""])[0]
    if back in chosen and action == "replay":
        return see(address("jobs", back))
    return see(address("dead", done=action, number=number))


async def _done(request: Request, action: str, record: Record) -> bool:
    board = context_of(request).mill.board
    work = board.replay(record.job_id) if action == "replay" else board.drop(record.job_id)
    had_effect = await asyncio.shield(asyncio.ensure_future(work))
    audit.note(caller_of(request), action, request_id=request.state.request_id, job=record.job_id, done=had_effect)
    return had_effect
