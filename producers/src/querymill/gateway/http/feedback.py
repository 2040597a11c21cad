"""The route by which people say how relevant a hit was."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querymill.gateway.http.context import context_of
from querymill.gateway.http.job_shapes import JobBody
from querymill.gateway.http.parameters import JobId
from querymill.gateway.http.problems import invalid, of_rules
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, check_media
from querymill.gateway.http.submitting import accepted, read_body, submit_job
from querymill.gateway.http.waiting import WaitSeconds, answer_of, look_at, wait_for_end
from querymill.presenting.feedback import feedback_on_hit
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.feedback import Comment, FeedbackResult, Relevance
from querymill_shared.contracts.fields import FilePath
from querymill_shared.contracts.jobs import decode_result

router = APIRouter(route_class=GatewayRoute, tags=["jobs"])


class FeedbackBody(BaseModel):
    """What is said of a hit."""

    model_config = ConfigDict(extra="forbid")

    hit: Annotated[FilePath, Field(description="id of the hit, or of its document if that has one hit only")]
    relevance: Relevance
    comment: Comment = ""


@router.post(
    "/v1/jobs/{job_id}/feedback",
    status_code=202,
    response_model=JobBody,
    responses=answers({200: {"description": "It is kept", "model": FeedbackResult}}, problems=(410, 415, 424)),
)
async def give_feedback(request: Request, job_id: JobId, wait: WaitSeconds = 0) -> Response:
    """Keep how relevant a hit of a search is. What is said later of the same hit replaces it.

    Judgements make a set for `querymill eval`. They are kept until their document is deleted.
    """
    check_media(request, JSON)
    said = await read_body(request, _read)
    await look_at(request, job_id)
    board = context_of(request).mill.board
    picture, written = (await board.picture(job_id)).for_caller(), await board.result(job_id)
    try:
        result = None if written is None else decode_result(written)
        kept = feedback_on_hit(
            job_id, picture.asked, result, hit=said.hit, relevance=said.relevance, comment=said.comment
        )
    except InvalidRequest as error:
        raise invalid(*error.errors) from None
    job = await submit_job(request, kept)
    if wait > 0:
        waited = await wait_for_end(request, job.id, wait)
        if waited.end is not None:
            return answer_of(job.id, waited.end)
    return accepted((await board.summary(job.id)).record, {})


def _read(body: bytes) -> FeedbackBody:
    """Read what is said.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        return FeedbackBody.model_validate_json(body)
    except ValidationError as error:
        raise of_rules(error) from None
