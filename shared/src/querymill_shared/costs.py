"""What the fleet spent, on the board: sums of each day, by model, API key, collection and label; and budgets.

A worker adds what a call cost when its provider has answered, in one script that also keeps the budgets. All keys have
one hash tag, so that a cluster has them on one server. A day is one of UTC, by the board's clock. Of each day the sums
of the subjects that cost most are kept apart; the rest are added up as `OTHERS`.

A budget is what an API key may spend in a day, in nanos. Once `EXTRAS_PERCENT` of it are spent, what a job can do
without is left out; once all of it is, no call begins, and the gateway takes no request that may need one.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

import redis

from querymill_shared.board import clock
from querymill_shared.board.replies import is_written_over
from querymill_shared.contracts.costs import ModelCost, added
from querymill_shared.values import value

#: What a day's sums are kept by. "model" has one subject, "": every sum has a part for each model.
Dimension = Literal["model", "key", "collection", "label"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
#: Sums are kept for this many days: this month and the one before.
DAYS_KEPT: Final = 62
#: The subjects of a dimension whose sums a day keeps apart at least, and what the others are called.
MAX_SUBJECTS: Final = 500
OTHERS: Final = "(others)"
#: What the key of a caller is called who has none.
NO_KEY: Final = "(no key)"
#: The share of a budget that extras may use: expansions of a question, judgements of hits and of answers.
EXTRAS_PERCENT: Final = 80
DAY_MS: Final = 86_400_000
_PREFIX: Final = "qm:{costs}:"
#: Names the slot to the scripts; nothing is ever stored there.
SLOT: Final = f"{_PREFIX}day:"
#: A hash: the budget of each API key that has one, by its id; "" where it was taken off.
BUDGETS: Final = f"{_PREFIX}budgets"


@value
class Sums:
    """What one subject cost on one day, by model. ``day`` is its date, such as 2026-07-27."""

    day: str
    dimension: Dimension
    subject: str
    costs: tuple[ModelCost, ...]


#: What a budget still allows.
Allowance = Literal["all", "essentials", "nothing"]


@value
class Budget:
    """What an API key may spend today, and has spent, in nanos. The day still lasts ``left_s`` seconds."""

    key_id: str
    budget: int
    spent: int
    left_s: float

    @property
    def allows(self) -> Allowance:
        """What it still allows.

        >>> [Budget("k", 100, spent, 0).allows for spent in (79, 80, 99, 100)]
        ['all', 'essentials', 'essentials', 'nothing']
        """
        if self.spent >= self.budget:
            return "nothing"
        return "essentials" if self.spent * 100 >= self.budget * EXTRAS_PERCENT else "all"


def read_budgets(client: redis.Redis) -> list[Budget]:
    """Return the budgets of all API keys that have one."""
    now_ms = int(clock.read_clock(client) * 1000)
    pipeline: Any = client.pipeline(transaction=False)
    pipeline.hgetall(BUDGETS)
    pipeline.hgetall(purse_key(now_ms))
    kept, spent = pipeline.execute(raise_on_error=False)
    for reply in (kept, spent):
        if isinstance(reply, Exception) and not is_written_over(reply):
            raise reply
    sums = _texts(spent)
    return [
        budget
        for key_id, said in sorted(_texts(kept).items())
        if (budget := budget_of(key_id, said, sums.get(f"spent/{key_id}"), now_ms)) is not None
    ]


def purse_key(now_ms: int) -> str:
    """Return the key of a hash: what is spent and held on the day of a time, by who pays."""
    return f"{SLOT}{now_ms // DAY_MS}:purse"


def budget_of(key_id: str, budget: str | None, spent: str | None, now_ms: int) -> Budget | None:
    """Return a budget as the board has it, or None if the key has none."""
    if not budget or not budget.isdecimal():
        return None
    counted = int(spent) if spent and spent.isdecimal() else 0
    return Budget(key_id, int(budget), counted, (DAY_MS - now_ms % DAY_MS) / 1000)


def sums_key(day: int, dimension: str) -> str:
    """Return the key of a hash: the subjects of a day (its number since 1970), each with a line for each model."""
    return f"{SLOT}{day}:{dimension}"


def read_sums(client: redis.Redis, days: int, dimensions: Iterable[Dimension] = DIMENSIONS) -> list[Sums]:
    """Return what was spent on the last days, today first. What cannot be read is left out."""
    today = int(clock.read_clock(client) * 1000) // DAY_MS
    asked = [(day, dimension) for day in range(today, today - days, -1) for dimension in dimensions]
    pipeline: Any = client.pipeline(transaction=False)
    for day, dimension in asked:
        pipeline.hgetall(sums_key(day, dimension))
    found = []
    for (day, dimension), kept in zip(asked, pipeline.execute(raise_on_error=False), strict=True):
        for subject, lines in _texts(kept).items():
            found.append(Sums(date_of(day), dimension, subject, _read_lines(lines)))
    return found


def date_of(day: int) -> str:
    """Return the date of a day by its number since 1970.

    >>> date_of(20_661)
    '2026-07-27'
    """
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()


def _read_lines(lines: str) -> tuple[ModelCost, ...]:
    """Read the lines of a subject: model, currency, calls, tokens in and out, nanos."""
    return added(cost for line in lines.split("\n") if (cost := _read_line(line)) is not None)


def _read_line(line: str) -> ModelCost | None:
    try:
        model, currency, calls, sent, written, nanos = line.split("\t")
        return ModelCost(
            model=model,
            calls=int(calls),
            input_tokens=int(sent),
            output_tokens=int(written),
            cost_nanos=int(nanos) if currency else None,
            currency=currency,
        )
    except ValueError:
        return None


def _texts(kept: Any) -> Mapping[str, str]:
    """Return a hash as text, or an empty one if another program wrote it."""
    return {_text(name): _text(said) for name, said in kept.items()} if isinstance(kept, dict) else {}


def _text(said: bytes | str) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said
