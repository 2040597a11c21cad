"""What the fleet spent, for people: the sums of days as rows, money as it is read, and the budgets of keys."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import redis
from rich.table import Table

from querymill_shared.board.away import BoardLocked
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.costs import ModelCost, money
from querymill_shared.costs import DIMENSIONS, Budget, Dimension, Sums, read_budgets, read_sums
from querymill_shared.settings import Settings

#: What the rows of a table stand for.
By = Literal["day", "model", "key", "collection", "label"]
#: Days that are shown unless another number is asked for.
SHOWN_DAYS = 7


@dataclass(slots=True)
class CostRow:
    """What one day, model, key, collection or label cost: nanos by currency, and tokens of models without a price."""

    name: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanos: Counter[str] = field(default_factory=Counter)
    unpriced_tokens: int = 0

    def add(self, cost: ModelCost) -> None:
        """Add what one model cost."""
        self.calls += cost.calls
        self.input_tokens += cost.input_tokens
        self.output_tokens += cost.output_tokens
        if cost.cost_nanos is None:
            self.unpriced_tokens += cost.input_tokens + cost.output_tokens
        else:
            self.nanos[cost.currency] += cost.cost_nanos

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens

    @property
    def money(self) -> str:
        """The amount, and how many tokens have no price, as "USD 0.05 + 1,200 tokens without a price"."""
        amounts = [money(nanos, currency) for currency, nanos in self.nanos.items()]
        if self.unpriced_tokens and not amounts:
            return "no price"
        unpriced = [f"{self.unpriced_tokens:,} tokens without a price"] if self.unpriced_tokens else []
        return " + ".join([*amounts, *unpriced])


def spent(settings: Settings, days: int, dimensions: Iterable[Dimension] = DIMENSIONS) -> list[Sums] | None:
    """Return what was spent on the last days, today first. Return None if the board is away.

    Raises:
        BoardLocked: The server does not accept the user or the password.
        redis.exceptions.NoPermissionError: The user may not read the sums.
    """
    try:
        with open_commands(settings.redis_url) as client:
            return read_sums(client, days, dimensions)
    except (BoardLocked, redis.exceptions.NoPermissionError):
        raise
    except redis.RedisError:
        return None


def budgets(settings: Settings) -> list[Budget]:
    """Return the budgets of the API keys that have one, with what is spent today.

    Raises:
        redis.RedisError: The board is away, or the user may not read them.
    """
    with open_commands(settings.redis_url) as client:
        return read_budgets(client)


def cost_of(costs: Iterable[ModelCost], name: str = "") -> CostRow:
    """Return costs of several models as one row."""
    row = CostRow(name)
    for cost in costs:
        row.add(cost)
    return row


def rows_by(by: By, sums: Sequence[Sums]) -> list[CostRow]:
    """Return a row for each day, newest first, or for each subject of another kind, with what cost most first."""
    rows: dict[str, CostRow] = {}
    for found in sums:
        if found.dimension == ("model" if by == "day" else by):
            for cost in found.costs:
                name = {"day": found.day, "model": cost.model}.get(by, found.subject)
                rows.setdefault(name, CostRow(name)).add(cost)
    if by == "day":
        return list(rows.values())
    return sorted(rows.values(), key=lambda row: (-max(row.nanos.values(), default=0), -row.tokens, row.name))


def figures_of(sums: Sequence[Sums]) -> list[dict[str, Any]]:
    """Return sums as JSON has them."""
    return [
        {
            "day": found.day,
            "by": found.dimension,
            "name": found.subject,
            "costs": [cost.model_dump(mode="json") for cost in found.costs],
        }
        for found in sums
    ]


def budget_figures(budget: Budget) -> dict[str, Any]:
    """Return a budget as JSON has it."""
    return {
        "key": budget.key_id,
        "budget_nanos": budget.budget,
        "spent_nanos": budget.spent,
        "allows": budget.allows,
        "ends_in_s": round(budget.left_s),
    }


def table_of(by: By, rows: Sequence[CostRow]) -> Table:
    """Lay the rows out, with their sum below them."""
    table = Table(box=None)
    table.add_column(by)
    for heading in ("calls", "tokens in", "tokens out", "cost"):
        table.add_column(heading, justify="right")
    whole = CostRow("all")
    for row in rows:
        whole.calls, whole.unpriced_tokens = whole.calls + row.calls, whole.unpriced_tokens + row.unpriced_tokens
        whole.input_tokens, whole.output_tokens = (
            whole.input_tokens + row.input_tokens,
            whole.output_tokens + row.output_tokens,
        )
        whole.nanos.update(row.nanos)
    for row in (*rows, *([whole] if len(rows) > 1 else [])):
        counts = (f"{number:,}" for number in (row.calls, row.input_tokens, row.output_tokens))
        table.add_row(row.name, *counts, row.money)
    return table
