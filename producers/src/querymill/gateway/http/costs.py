"""The route of what calls of models cost."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from querymill.costs import SHOWN_DAYS, budget_figures, budgets, figures_of, spent
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.problems import unavailable
from querymill.gateway.http.routing import GatewayRoute, answers
from querymill.keys import ALL, ApiKey, Scope
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.costs import DAYS_KEPT, NO_KEY, OTHERS, Allowance, Budget, Dimension, Sums

router = APIRouter(route_class=GatewayRoute, tags=["operation"])


class SumsBody(BaseModel):
    """What one API key, collection or label, or all, cost on one day, by model."""

    day: str = Field(description="the date, in UTC")
    by: Dimension = Field(description="model: the sums of all; key, collection, label: those of one")
    name: str = Field(
        description=f"the key's id ({NO_KEY}: who has the board's address), the collection, or the label as name=value;"
        f" {OTHERS} for those that cost least; empty for all"
    )
    costs: list[ModelCost] = Field(description="what they cost, with one entry for each model and currency")


class BudgetBody(BaseModel):
    """What an API key may spend in a day of UTC, and has spent today."""

    key: str = Field(description="the key's id")
    budget_nanos: int = Field(description="what it may spend, in billionths of the currency's unit")
    spent_nanos: int = Field(description="what it has spent today")
    allows: Allowance = Field(
        description="essentials: expansions and judgements are left out; nothing: requests are refused, with 429"
    )
    ends_in_s: int = Field(description="seconds until the day is over")


class CostsBody(BaseModel):
    """What the fleet spent."""

    sums: list[SumsBody] = Field(description="what was spent on each day, today first")
    budgets: list[BudgetBody] = Field(
        description="of each key that has a budget; empty for a key that may not see all collections"
    )


@router.get("/v1/costs", response_model=CostsBody, responses=answers(never=(404,)))
async def costs(
    request: Request,
    days: Annotated[
        int, Query(ge=1, le=DAYS_KEPT, description="how many days, with today; a day is one of UTC")
    ] = SHOWN_DAYS,
) -> Response:
    """Return what calls of models cost on the last days, by model and by collection that the key may see.

    A key that may see all collections also learns what keys and labels cost, and the budgets of keys. Every gateway
    says the same. A key needs the scope operate.
    """
    need(caller_of(request), Scope.OPERATE)
    sums, listed = await spent_for(request, days), await budgets_for(request)
    return JSONResponse({"sums": figures_of(sums), "budgets": [budget_figures(budget) for budget in listed]})


async def budgets_for(request: Request) -> Sequence[Budget]:
    """Return the budgets of keys, none to a caller who may not see all collections."""
    if ALL not in caller_of(request).collections:
        return []
    return await asyncio.to_thread(budgets, context_of(request).settings)


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
    if ALL in caller.collections or sums.dimension == "model":
        return True
    return sums.dimension == "collection" and caller.sees(sums.subject)
