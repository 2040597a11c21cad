"""The box "Why not?": an id, a title or words lead to one candidate, and a new job says which gate it did not pass."""

from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError

from querymill.gateway.console.hits import hits_of
from querymill.gateway.console.rendering import address, read_form, render, see
from querymill.gateway.http.context import context_of
from querymill.gateway.http.documents import fetch
from querymill.gateway.http.problems import Problem, not_found
from querymill.gateway.http.submitting import submit_job
from querymill.gateway.http.waiting import look_at
from querymill_shared.contracts.documents import ShowDocument, ShownDocument
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import JobResult

router = APIRouter()

#: Candidates that are shown to choose from, and how long a search for them may take, in seconds.
CANDIDATES, PATIENCE_S = 10, 20.0
#: What the search for candidates takes over from the request that is explained.
_SAME: Final = ("kind", "collection", "time_zone", "locale", "return_parent_pages")
#: What a request that explains leaves out: it costs tokens, and explains nothing.
_LEFT_OUT: Final = {"answer": False, "judge": False}
_LIMITS: Final = ("limit", "top_n", "top_k")


def may_ask_why_not(asked: JobRequest) -> bool:
    """Return whether a kind can explain an absence."""
    return "why_not" in type(asked).model_fields


@router.post("/console/jobs/{job_id}/why-not")
async def ask_why_not(request: Request, job_id: str) -> Response:
    """Ask the same again, as a new job that says why something is not among its hits; first find out what is meant."""
    fields = await read_form(request)
    asked = await _asked(request, job_id)
    wanted, chosen = (fields.get(name, [""])[0].strip() for name in ("id", "chosen"))
    if not wanted and not chosen:
        return see(address("jobs", job_id) + "#why-not")
    if not chosen and not await _is_id(request, asked, wanted):
        found = await _candidates(request, asked, wanted)
        return render(request, "why_not.html", job_id=job_id, wanted=wanted[:200], found=found)
    try:
        again = type(asked).model_validate(_explaining(asked) | {"why_not": chosen or wanted})
    except ValidationError:
        return render(request, "why_not.html", 422, job_id=job_id, wanted=wanted[:200], found=[])
    job = await submit_job(request, again)
    return see(address("jobs", job.id) + "#s-missed")


async def _asked(request: Request, job_id: str) -> JobRequest:
    await look_at(request, job_id)
    asked = (await context_of(request).mill.board.picture(job_id)).for_caller().asked
    if asked is None or not may_ask_why_not(asked):
        raise not_found()
    return asked


def _explaining(asked: JobRequest) -> dict[str, Any]:
    """Return the fields of a request without those that cost and explain nothing. Its version follows from them."""
    fields = asked.model_dump(exclude_unset=True) | {"kind": asked.kind}
    fields.pop("version", None)
    return fields | {name: value for name, value in _LEFT_OUT.items() if name in fields}


async def _is_id(request: Request, asked: JobRequest, wanted: str) -> bool:
    """Return whether the text is the id of something that could be a hit. Ids of messages are those of hits."""
    if asked.kind == "messages":
        return len(wanted) == 32 and set(wanted) <= set("0123456789abcdef")  # a vector id
    if any(blank in wanted for blank in " \n\t"):
        return False
    document = wanted.partition("/")[0] if asked.kind == "reports" else wanted
    show = {"kind": "show_document", "retriever": asked.kind, "collection": asked.collection, "id": document}
    try:
        await fetch(request, ShowDocument.model_validate(show), ShownDocument)
    except (Problem, ValidationError):
        return False
    return True


async def _candidates(request: Request, asked: JobRequest, words: str) -> list[tuple[str, str, str]]:
    """Search the collection for the words alone. Return the id, the title and the beginning of each candidate."""
    same = {name: value for name, value in asked.model_dump(exclude_unset=True).items() if name in _SAME}
    limits = {name: CANDIDATES for name in _LIMITS if name in type(asked).model_fields}
    try:
        search = type(asked).model_validate(
            {"kind": asked.kind} | same | limits | {"query": words, "deadline": PATIENCE_S}
        )
        result: Any = await fetch(request, search, JobResult)
    except (Problem, ValidationError):
        return []
    hits = hits_of(result, result.job_id, limit=CANDIDATES)
    return [(hit.view.key, hit.view.title, hit.folded.text) for hit in hits]
