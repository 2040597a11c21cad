"""The compatible route: the vector search of chats, which waits for its result."""

import json
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError

from querymill.gateway.http.context import caller_of
from querymill.gateway.http.problems import Problem, invalid, links_of, of_rules
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, check_media
from querymill.gateway.http.submitting import read_body, submit_job
from querymill.gateway.http.waiting import answer_of, cancel, wait_for_end
from querymill_shared.contracts.messages.search import ChatVectorsRequest, MessageResult, MessageSearch
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions, options_beside

router = APIRouter(route_class=GatewayRoute, tags=["search"])

#: A job ends by its deadline; this is how much longer its response may take, in seconds.
ANSWER_MARGIN_S: Final = 2.0


@router.post("/api/chat/vectors", response_model=MessageResult, responses=answers(problems=(410, 415, 424, 504)))
async def chat_vectors(request: Request) -> Response:
    """Search the messages of chats, and wait for the result. If the client goes, the search is cancelled.

    A request without a collection searches the default collection of its key. `labels` and `supersedes` may stand
    beside its fields.
    """
    check_media(request, JSON)
    default = caller_of(request).default_collection
    asked, options = await read_body(request, lambda body: _read(body, default))
    job = await submit_job(request, asked, options)
    waited = await wait_for_end(request, job.id, asked.deadline + ANSWER_MARGIN_S)
    if waited.end is not None:
        return answer_of(job.id, waited.end)
    if waited.is_gone:
        await cancel(request, job.id)
    raise Problem("late", more={"job_id": job.id, "links": links_of(job.id)})


def _read(body: bytes, default_collection: str | None) -> tuple[MessageSearch, SubmitOptions]:
    """Read a request, with the options that stand beside its fields.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        fields = json.loads(body)
        asked, options = options_beside(fields) if isinstance(fields, dict) else (fields, PLAIN)
        if isinstance(asked, dict) and default_collection is not None:
            asked = {"collection": default_collection} | asked
        return ChatVectorsRequest.model_validate(asked).as_search(), options
    except ValidationError as error:
        raise of_rules(error) from None
    except (ValueError, RecursionError):
        raise invalid(("body", "must be JSON")) from None
