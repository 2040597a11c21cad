"""What was spent, as the overview tells it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from querymill.costs import By, CostRow, cost_of, rows_by
from querymill_shared.costs import DAY_MS, Budget, Sums, date_of

#: What the costs of today are shown by, and how many of each.
SUBJECTS: Final[tuple[By, ...]] = ("collection", "key", "label")
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls of models cost today, yesterday and in the last days; of today the dearest subjects, and budgets."""

    days: int
    today: CostRow
    yesterday: CostRow
    together: CostRow
    dearest: tuple[tuple[str, tuple[CostRow, ...]], ...]
    budgets: tuple[Budget, ...] = ()


def spent_of(sums: Sequence[Sums], now: float, *, days: int, budgets: Sequence[Budget] = ()) -> Spent:
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
    dearest = tuple((by, tuple(rows_by(by, of_today)[:SHOWN])) for by in SUBJECTS)
    return Spent(days, today, yesterday, together, dearest, tuple(budgets))
