"""The route of what calls of models cost."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from querymill.costs import SHOWN_DAYS, figures_of, spent
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.problems import unavailable
from querymill.gateway.http.routing import GatewayRoute, answers
from querymill.keys import ALL, ApiKey, Scope
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.costs import DAYS_KEPT, OTHERS, Sums

router = APIRouter(route_class=GatewayRoute, tags=["operation"])


class SumsBody(BaseModel):
    """What one collection, or all, cost on one day, by model."""

    day: str = Field(description="the date, in UTC")
    by: Literal["model", "collection"] = Field(description="model: the sums of all; collection: those of one")
    name: str = Field(description=f"the collection, or {OTHERS} for those that cost least; empty for all")
    costs: list[ModelCost]


class CostsBody(BaseModel):
    """What the fleet spent, today first."""

    sums: list[SumsBody]


@router.get("/v1/costs", response_model=CostsBody, responses=answers(never=(404,)))
async def costs(
    request: Request,
    days: Annotated[
        int, Query(ge=1, le=DAYS_KEPT, description="how many days, with today; a day is one of UTC")
    ] = SHOWN_DAYS,
) -> Response:
    """Return what calls of models cost on the last days, by model and by collection that the key may see.

    Every gateway says the same. A key needs the scope operate.
    """
    need(caller_of(request), Scope.OPERATE)
    return JSONResponse({"sums": figures_of(await spent_for(request, days))})


async def spent_for(request: Request, days: int) -> Sequence[Sums]:
    """Return what was spent on the last days, as far as the caller may know.

    Raises:
        Problem: The board does not answer.
    """
    found = await asyncio.to_thread(spent, context_of(request).settings, days)
    if found is None:
        raise unavailable("the board is not reachable")
    caller = caller_of(request)
    return [sums for sums in found if _may_know(caller, sums)]


def _may_know(caller: ApiKey, sums: Sums) -> bool:
    if sums.dimension == "collection":
        return ALL in caller.collections or caller.sees(sums.subject)
    return True
