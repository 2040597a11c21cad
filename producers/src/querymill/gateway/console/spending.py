"""What was spent, as the overview tells it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from querymill.costs import CostRow, cost_of, rows_by
from querymill_shared.costs import DAY_MS, Sums, date_of


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls of models cost today, yesterday and in the last days, and today's collections, the dearest first."""

    days: int
    today: CostRow
    yesterday: CostRow
    together: CostRow
    collections: tuple[CostRow, ...]


def spent_of(sums: Sequence[Sums], now: float, *, days: int) -> Spent:
    """Return what was spent in the last days, by a time of the board (s)."""
    day = int(now * 1000) // DAY_MS
    today, yesterday = (
        cost_of(
            cost for found in sums if (found.dimension, found.day) == ("model", date_of(of)) for cost in found.costs
        )
        for of in (day, day - 1)
    )
    together = cost_of(cost for found in sums if found.dimension == "model" for cost in found.costs)
    of_today = [found for found in sums if found.day == date_of(day)]
    return Spent(days, today, yesterday, together, tuple(rows_by("collection", of_today)))
