"""The route of Dify: a collection is a knowledge base, and a question is answered with the texts that are nearest.

A search of one kind finds hits; those that meet what a filter cannot say become records with their texts.
"""

from typing import Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from querymill.agents.answering import texts_of
from querymill.agents.found import found_of, lacks_text
from querymill.agents.searches import ALL, MAX_HITS, READ_FOR_TEXT, SEARCH_S, named_kind, search_of
from querymill.gateway.dify.conditions import Conditions, conditions_of, filterable
from querymill.gateway.dify.records import record_of, relevances_of
from querymill.gateway.dify.shape import RETRIEVAL, RetrievalError, RetrievalRequest, Retrieved, status_of
from querymill.gateway.http.context import caller_of, need
from querymill.gateway.http.problems import Problem, invalid, links_of, of_rules
from querymill.gateway.http.routing import COMMON, JSON, GatewayRoute, check_media
from querymill.gateway.http.submitting import read_body
from querymill.gateway.http.waiting import cancel, result_of, wait_for_end
from querymill.gateway.mcp import KeyAccess
from querymill.keys import Scope
from querymill.presenting.hit import views_of
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import ANY_RESULT
from querymill_shared.contracts.kinds import KindResult, KindSearch

router = APIRouter(route_class=GatewayRoute, tags=["dify"])

#: A job ends by its deadline; this is how much longer its response may take, in seconds.
_MARGIN_S: Final = 2.0
_STATUSES: Final = sorted({status_of(status) for status in (*COMMON, 410, 415, 424, 504)})


@router.post(
    RETRIEVAL,
    response_model=Retrieved,
    responses={status: {"description": "An error in Dify's shape", "model": RetrievalError} for status in _STATUSES},
)
async def retrieve(request: Request) -> Response:
    """Find the texts that are nearest to a question of Dify. If the client goes, the search is cancelled."""
    check_media(request, JSON)
    asked = await read_body(request, _read)
    need(caller_of(request), Scope.SEARCH)
    access = KeyAccess(request)
    collection, kind = await _knowledge(access, asked.knowledge_id)
    conditions = _conditions(kind, asked)
    limit = MAX_HITS[kind] if conditions.left else asked.retrieval_setting.top_k
    search = cast("KindSearch", search_of(kind, collection, asked.query, limit=limit, conditions=conditions.filter))
    result = await _searched(request, access, search)
    return JSONResponse((await _retrieved(access, result, conditions, asked)).model_dump(mode="json"))


def _read(body: bytes) -> RetrievalRequest:
    """Read a request.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        return RetrievalRequest.model_validate_json(body)
    except ValidationError as error:
        raise of_rules(error) from None


async def _knowledge(access: KeyAccess, name: str) -> tuple[str, Retriever]:
    """Return the collection and the kind that a knowledge id names.

    Raises:
        Problem: There is no such collection, or the key may not see it. The answer is the same.
    """
    found = named_kind(name, await access.collections())
    if found is None or found[1] == ALL:
        raise Problem("not-found", "knowledge_id: no such collection, or this key may not use it")
    return found[0], found[1]


def _conditions(kind: Retriever, asked: RetrievalRequest) -> Conditions:
    """Read the conditions.

    Raises:
        Problem: One breaks a rule.
    """
    try:
        return conditions_of(kind, asked.metadata_condition)
    except ValueError as error:
        raise invalid(("metadata_condition", str(error))) from None


async def _searched(request: Request, access: KeyAccess, search: KindSearch) -> KindResult:
    """Run a search.

    Raises:
        Problem: It has no result in time, or none at all.
    """
    if "metadata" in type(search).model_fields:
        search = search.model_copy(update={"metadata": True})
    job = await access.submit(search)
    waited = await wait_for_end(request, job.id, SEARCH_S + _MARGIN_S)
    if waited.end is not None:
        return cast("KindResult", ANY_RESULT.validate_json(result_of(job.id, waited.end)))
    if waited.is_gone:
        await cancel(request, job.id)
    raise Problem("late", more={"job_id": job.id, "links": links_of(job.id)})


async def _retrieved(
    access: KeyAccess, result: KindResult, conditions: Conditions, asked: RetrievalRequest
) -> Retrieved:
    setting, kind = asked.retrieval_setting, result.kind
    views = [(view, found) for view in views_of(result) if (found := found_of(view)) is not None]
    relevances = relevances_of([view.hit for view, _ in views])
    chosen = [
        (view, found, relevance)
        for (view, found), relevance in zip(views, relevances, strict=True)
        if relevance >= (setting.score_threshold or 0.0) and conditions.are_met(filterable(kind, view.hit))
    ][: setting.top_k]
    texts = await texts_of(access, [found for _, found, _ in chosen], every=kind in READ_FOR_TEXT, most=setting.top_k)
    return Retrieved(
        records=[
            record_of(found, view.hit, relevance, access.link(found.place))
            for found, (view, _, relevance) in zip(texts, chosen, strict=True)
            if not lacks_text(found)
        ]
    )
