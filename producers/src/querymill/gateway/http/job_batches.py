"""The route of many jobs in one request: each part is answered by itself, with its job, its result or its problem."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError
from pydantic_core import to_json

from querymill.client.events.waits import Heard
from querymill.client.job import AsyncJob
from querymill.gateway.http import problems
from querymill.gateway.http.batch_shapes import AskedJob, JobAnswers, JobParts
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.job_search import records_of
from querymill.gateway.http.job_shapes import job_of
from querymill.gateway.http.languages import in_callers_locale
from querymill.gateway.http.problems import Problem, invalid, of_rules, unavailable
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, check_media
from querymill.gateway.http.submitting import read_body, request_of, submit_job
from querymill.gateway.http.waiting import WaitSeconds, answer_of, wait_for_each
from querymill_shared.board import Record
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import SubmitOptions

router = APIRouter(route_class=GatewayRoute, tags=["jobs"])
_log = logging.getLogger(__name__)

#: Results of one answer, in bytes. A job whose result finds no room is answered with its links.
MAX_RESULTS: Final = 20_000_000
_GONE: Final = "the board did not take a part before this one, so this one was not tried"


@router.post("/v1/jobs:batch", response_model=JobAnswers, responses=answers(problems=(415,), never=(404,)))
async def submit_batch(request: Request, wait: WaitSeconds = 0) -> Response:
    """Submit up to 100 jobs of any kinds, in their order. Each is answered by itself, in the same order.

    A part that breaks a rule has its problem, and the others are submitted. With ``wait`` a job that has ended in time
    is answered with its result. Of a key with a rate, every part counts as a request.
    """
    check_media(request, JSON)
    parts = await read_body(request, _parts)
    headers = await _count(request, len(parts))
    submitted = await _submit_each(request, parts)
    jobs = [job.id for job in submitted if not isinstance(job, Problem)]
    ends = await wait_for_each(request, jobs, wait) if wait > 0 and jobs else {}
    records = dict(zip(jobs, await records_of(request, jobs), strict=True))
    return Response(_written(request, submitted, ends, records), headers=headers, media_type=JSON)


def _parts(body: bytes) -> Sequence[Any]:
    """Read the parts, each as it is.

    Raises:
        Problem: There are none, or too many.
    """
    try:
        return JobParts.model_validate_json(body).jobs
    except ValidationError as error:
        raise of_rules(error) from None


async def _count(request: Request, parts: int) -> Mapping[str, str]:
    """Count every part but the first, which is counted at the door. Return the headers that say how many are left.

    Raises:
        Problem: They are too many for the rate of the key.
    """
    caller = caller_of(request)
    most = caller.requests_per_minute
    if most is not None and parts > most:
        raise invalid(("jobs", f"must be at most {most} ({parts}): the key allows so many requests per minute"))
    return await context_of(request).rate_limiter.count(caller, parts - 1) if parts > 1 else {}


async def _submit_each(request: Request, parts: Sequence[Any]) -> list[AsyncJob[Any] | Problem]:
    """Submit parts one after the other, so that of two writes the later part is the newer version."""
    found: list[AsyncJob[Any] | Problem] = []
    is_away = False
    for part in parts:
        outcome = unavailable(_GONE) if is_away else await _submit_part(request, part)
        is_away = isinstance(outcome, Problem) and outcome.slug == "unavailable"
        found.append(outcome)
    request.state.job_id = None  # the access log names the job of a request that has one
    return found


async def _submit_part(request: Request, part: Any) -> AsyncJob[Any] | Problem:
    try:
        asked, options = _read_part(part)
        return await submit_job(request, in_callers_locale(request, asked), options)
    except Exception as error:  # noqa: BLE001  # one part must not cost the others
        problem = problems.of(error)
        if problem is None:
            _log.error("a part of a batch failed: %s", type(error).__name__)
        return problem or Problem("bug")


def _read_part(part: Any) -> tuple[JobRequest, SubmitOptions]:
    """Read a part.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        read = AskedJob.model_validate(part)
    except ValidationError as error:
        raise of_rules(error) from None
    asked, options = request_of(to_json(read.request))
    return asked, options.model_copy(update={"idempotency_key": read.idempotency_key})


def _written(
    request: Request, submitted: Sequence[AsyncJob[Any] | Problem], ends: Mapping[str, Heard],
    records: Mapping[str, Record | None],
) -> bytes:  # fmt: skip
    """Write the answer. Results are put in as they are stored, while there is room."""
    answers_, left = list[bytes](), MAX_RESULTS
    for job in submitted:
        if isinstance(job, Problem):
            answers_.append(_refused(request, job))
            continue
        end = ends.get(job.id)
        answer = _accepted(request, job, records[job.id], end if end is not None and _bytes(end) <= left else None)
        left -= _bytes(end) if end is not None and _bytes(end) <= left else 0
        answers_.append(answer)
    return b'{"jobs":[' + b",".join(answers_) + b"]}"


def _bytes(end: Heard) -> int:
    return len(end.result or "")


def _refused(request: Request, problem: Problem) -> bytes:
    body = problems.body_of(problem, request.state.request_id)
    return to_json({"status": body["status"], "problem": body})


def _accepted(request: Request, job: AsyncJob[Any], record: Record | None, end: Heard | None) -> bytes:
    shown: dict[str, Any] = {"replayed": job.is_replayed}
    if record is not None:
        shown["job"] = job_of(record).model_dump(mode="json")
    if end is None:
        return to_json({"status": 202, **shown})
    try:
        result = bytes(answer_of(job.id, end, may_be_repeated=False).body)
    except Problem as problem:
        body = problems.body_of(problem, request.state.request_id)
        return to_json({"status": body["status"], **shown, "problem": body})
    return to_json({"status": 200, **shown})[:-1] + b',"result":' + result + b"}"
