"""Two runs of a question side by side: what was asked otherwise, what each took, and where each hit stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.hits import NumberedHit, hits_of, read_result
from querymill.gateway.console.job_list import JobRow, rows_of
from querymill.gateway.console.job_page import ID_CHARS
from querymill.gateway.console.rendering import render
from querymill.gateway.console.wording import short
from querymill.gateway.http.context import context_of
from querymill.gateway.http.job_search import find_jobs
from querymill.gateway.http.problems import not_found
from querymill.gateway.http.waiting import look_at
from querymill.presenting.explain.verdict import SpeedVerdict, verdict
from querymill.presenting.explain.waterfall import waterfall
from querymill_shared.board import Picture, Record
from querymill_shared.contracts.jobs import AnyResult

router = APIRouter()

#: The hits of each run that are compared; the runs of the same question that are offered, and the jobs looked at.
COMPARED: Final = 50
OFFERED, LOOKED_AT = 12, 500


@dataclass(frozen=True, slots=True)
class Run:
    """One of the two: its record, its result if it is still kept, why it took so long, and its first hits."""

    record: Record
    result: AnyResult | None
    speed: SpeedVerdict
    asked: Mapping[str, Any]
    hits: Sequence[NumberedHit] = ()

    @property
    def took_s(self) -> float | None:
        """How long it took, in seconds, None if it is not over."""
        return None if self.record.ended is None else self.record.ended - self.record.created


@dataclass(frozen=True, slots=True)
class ComparedHit:
    """A hit of either run, with what each has of it. ``moved`` is how many places the second run has it higher."""

    title: str
    first: NumberedHit | None
    second: NumberedHit | None

    @property
    def moved(self) -> int | None:
        """Places by which it stands higher in the second run, None if one has it not."""
        if self.first is None or self.second is None:
            return None
        return self.first.number - self.second.number


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs: fields that were asked otherwise, as (name, first, second), and the hits of both."""

    fields: tuple[tuple[str, str, str], ...]
    hits: tuple[ComparedHit, ...]

    @property
    def is_same(self) -> bool:
        """Whether both have the same hits in the same places."""
        return all(hit.moved == 0 for hit in self.hits)


def compare(first: Run, second: Run) -> Comparison:
    """Compare two runs. Hits stand in the order of the better of their two places."""
    known = {_key(hit): hit for hit in first.hits}
    other = {_key(hit): hit for hit in second.hits}
    hits = [
        ComparedHit((known.get(key) or other[key]).view.title, known.get(key), other.get(key)) for key in known | other
    ]
    return Comparison(tuple(_differing(first.asked, second.asked)), tuple(sorted(hits, key=_best)))


def _key(hit: NumberedHit) -> tuple[str, str]:
    return hit.view.key or hit.view.title, hit.view.part


def _best(hit: ComparedHit) -> tuple[int, int]:
    places = [each.number for each in (hit.first, hit.second) if each is not None]
    return min(places), sum(places)


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    return [(name.replace("_", " "), _said(first, name), _said(second, name)) for name in names]


def _said(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name)
    return (
        "–"
        if value in (None, [], {}, "")
        else "yes"
        if value is True
        else "no"
        if value is False
        else short(str(value), 120)
    )


@router.get("/console/jobs/{job_id}/compare")
async def show_comparison(request: Request, job_id: str) -> Response:
    """Compare a search with another run of its question, or offer those that there are."""
    first = await _run(request, job_id)
    others = await _others(request, first)
    wanted = request.query_params.get("with") or (others[0].record.job_id if len(others) == 1 else "")
    second = await _run(request, wanted) if wanted else None
    return render(
        request,
        "compare.html",
        question=str(first.asked.get("query") or first.record.kind),
        first=first,
        second=second,
        others=[row for row in others if second is None or row.record.job_id != second.record.job_id],
        found=compare(first, second) if second else None,
        now=await context_of(request).now(),
    )


async def _run(request: Request, job_id: str) -> Run:
    """Return a run that the visitor may see.

    Raises:
        Problem: There is none.
    """
    if len(job_id) != ID_CHARS:
        raise not_found()
    await look_at(request, job_id)
    board = context_of(request).mill.board
    picture: Picture = (await board.picture(job_id)).for_caller()
    record = picture.record
    result = read_result(await board.result(job_id) if record.state == "done" else None)
    asked = {} if picture.asked is None else picture.asked.model_dump(mode="json", exclude={"version", "lane"})
    drawn = waterfall(picture, now=await context_of(request).now())
    hits = hits_of(result, job_id, limit=COMPARED) if result is not None else ()
    return Run(record, result, verdict(drawn), asked, hits)


async def _others(request: Request, run: Run) -> list[JobRow]:
    """Return other runs of a question in the same collection, the latest first."""
    query = run.asked.get("query")
    if not query:
        return []
    wanted = {"kind": run.record.kind, "collection": run.record.collection}
    found = await find_jobs(request, wanted, limit=LOOKED_AT)
    rows = await rows_of(request, found.records)
    alike = [row for row in rows if row.subject == short(str(query)) and row.record.job_id != run.record.job_id]
    return alike[:OFFERED]
