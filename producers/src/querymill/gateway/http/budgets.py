"""The budgets of API keys at the door: a request that may call a model is refused once its key's budget is used up."""

import math
from typing import Any, Final, get_args

import redis.asyncio

from querymill.gateway.http.problems import Problem
from querymill.gateway.http.scopes import scope_of
from querymill.keys import ApiKey, Scope
from querymill_shared.board.clock import read_clock_later
from querymill_shared.board.replies import is_written_over
from querymill_shared.contracts.conversations.ranks import RankList
from querymill_shared.contracts.costs import money
from querymill_shared.contracts.documents import DocumentRequest
from querymill_shared.contracts.feedback import GiveFeedback, ListFeedback
from querymill_shared.contracts.files.ingest import CompareFiles
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.vectors import Reembed, WeighVectors
from querymill_shared.costs import BUDGETS, Budget, budget_of, purse_key

#: What asks no model anything: to read and to delete what is stored, and the work of operators.
_FREE: Final = (*get_args(DocumentRequest), CompareFiles, RankList, GiveFeedback, ListFeedback)


class BudgetKeeper:
    """Reads the budgets of keys on the board. A key without one costs one read per request."""

    def __init__(self, client: redis.asyncio.Redis, currency: str) -> None:
        self._client = client
        self._currency = currency

    async def check(self, key: ApiKey, asked: JobRequest) -> None:
        """Check that a key may pay for a request.

        Raises:
            Problem: Its budget of today is used up. It says what was spent, and until when.
        """
        if not key.id or is_free(asked):
            return
        kept = await self._read(BUDGETS, key.id)
        if not kept:
            return
        now_ms = int(await read_clock_later(self._client) * 1000)
        spent = await self._read(purse_key(now_ms), f"spent/{key.id}")
        budget = budget_of(key.id, kept, spent, now_ms)
        if budget is not None and budget.allows == "nothing":
            raise self._problem(budget)

    async def _read(self, name: str, field: str) -> str | None:
        try:
            kept: Any = await self._client.hget(name, field)
        except redis.ResponseError as error:
            if not is_written_over(error):
                raise
            return None  # another program wrote over all budgets, or all that is spent
        return str(kept) if kept else None

    def _problem(self, budget: Budget) -> Problem:
        spent, of = money(budget.spent, self._currency), money(budget.budget, self._currency)
        said = f"budget: the key has spent {spent} of {of} today; the next day of UTC has a budget of its own"
        headers = {"Retry-After": str(math.ceil(budget.left_s))}
        return Problem("budget", said, headers=headers, more={"code": "budget"})


def is_free(asked: JobRequest) -> bool:
    """Return whether a request calls no model."""
    return isinstance(asked, _FREE) or (
        scope_of(type(asked)) is Scope.OPERATE and not isinstance(asked, Reembed | WeighVectors)
    )
