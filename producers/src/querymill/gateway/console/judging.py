"""The button "Add this question to my set": what a visitor says of hits is kept with their question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.hits import read_result
from querymill.gateway.console.rendering import address, read_form, see
from querymill.gateway.http.context import context_of
from querymill.gateway.http.problems import invalid
from querymill.gateway.http.submitting import submit_job
from querymill.gateway.http.waiting import look_at
from querymill.presenting.feedback import SaidOfHit, feedback_on, hits_to_judge
from querymill.presenting.hit import HitView
from querymill_shared.contracts.errors import InvalidRequest

router = APIRouter()

#: The fields of a form that judge hits are named so, with the number of the hit.
_FIELD: Final = "relevance-"
#: What a hit may be judged as.
_GRADES: Final = ("0", "1", "2", "3")


@router.post("/console/jobs/{job_id}/feedback")
async def keep_judgements(request: Request, job_id: str) -> Response:
    """Keep what is said of hits, and lead back to the page of the search."""
    fields = await read_form(request)
    await look_at(request, job_id)
    board = context_of(request).mill.board
    asked = (await board.picture(job_id)).for_caller().asked
    try:
        said = list(said_in(fields, hits_to_judge(asked, read_result(await board.result(job_id)))))
    except InvalidRequest as error:
        raise invalid(*error.errors) from None
    for kept in feedback_on(job_id, asked, said):
        await submit_job(request, kept)
    start = (fields.get("from") or [""])[0]
    shown = {"from": start if start.isascii() and start.isdigit() else None, "judged": len(said)}
    return see(address("jobs", job_id, **shown) + "#s-hits")


def said_in(fields: Mapping[str, Sequence[str]], hits: Sequence[HitView]) -> Iterator[SaidOfHit]:
    """Yield what a form says of hits. A field ``relevance-2`` of "3" says of the second that it is exactly right.

    Raises:
        InvalidRequest: It says nothing, or of what is no hit, or it is no grade.
    """
    given = {name.removeprefix(_FIELD): values[0] for name, values in fields.items() if name.startswith(_FIELD)}
    judged = {number: grade for number, grade in given.items() if grade}
    if not judged:
        raise InvalidRequest(("relevance", "choose for at least one hit how relevant it is"))
    by_number = {str(number): view for number, view in enumerate(hits, start=1)}
    for number, grade in judged.items():
        if number not in by_number:
            raise InvalidRequest(("hit", "must be the number of a hit of the result"))
        if grade not in _GRADES:
            raise InvalidRequest(("relevance", f"must be one of: {', '.join(_GRADES)}"))
        yield SaidOfHit(by_number[number], int(grade))
