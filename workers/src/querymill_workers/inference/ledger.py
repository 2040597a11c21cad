"""The ledger: what calls of models cost, and who pays for them.

A bill is opened before a call, which holds its estimated cost against the budget of the API key that pays, and its
tokens against the limit of its collection. It is settled once the provider has answered. What a cache had, or another
worker was asking for, opens no bill: it costs nothing, and who asked first pays. Of a request with texts of several
jobs, each pays for its own texts. A call that failed costs nothing here, whatever its provider thinks of it.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, ClassVar, Final

import redis
import structlog

from querymill_shared import costs
from querymill_shared.board import Cause
from querymill_shared.board.away import AWAY
from querymill_shared.board.scripts import with_prelude
from querymill_shared.contracts.costs import ModelCost, ModelPrice, money
from querymill_shared.counters import FleetCounters
from querymill_shared.values import value
from querymill_workers.inference.work import CutShort
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable

_log = structlog.get_logger(__name__)

#: A day's sums are kept this much longer than a day is told, in ms.
_KEPT_MS: Final = (costs.DAYS_KEPT + 1) * costs.DAY_MS
#: The day on which a bill is settled that held nothing.
_TODAY: Final = -1


#: While a budget is used up, who can wait asks this often whether there is another one, in seconds.
LOOK_AGAIN_S: Final = 600.0


class BudgetUsedUp(Unavailable):
    """The budget of the API key that pays is used up. The step waits for the next day, or for a larger budget."""

    cause: ClassVar[Cause] = "pause"
    code = "budget"


@value
class Tariff:
    """What money is called, and the price of each model that has one."""

    prices: Mapping[str, ModelPrice]
    currency: str

    def cost(self, model: str, calls: int, input_tokens: int, output_tokens: int) -> ModelCost:
        """Return what calls of a model cost."""
        price = self.prices.get(model)
        return ModelCost(
            model=model,
            calls=calls,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_nanos=None if price is None else price.nanos(input_tokens, output_tokens),
            currency="" if price is None else self.currency,
        )


@dataclass(slots=True)
class Bill:
    """What the calls of one caller are charged. It is added to as responses come, and settled once."""

    caller: Caller
    model: str
    held_tokens: int = 0
    held_nanos: int = 0
    day: int = _TODAY
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    is_left_open: bool = False

    def add(self, input_tokens: int, output_tokens: int = 0, *, calls: int = 1) -> None:
        """Add calls that were answered, and the tokens that they took."""
        self.calls += calls
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens


class Ledger:
    """The fleet's account of what its calls cost. A collection may take so many tokens a day; None means no limit."""

    def __init__(
        self, client: redis.Redis, tariff: Tariff, fleet_counters: FleetCounters, *,
        collection_tokens_per_day: int | None = None,
    ) -> None:  # fmt: skip
        self._fleet_counters = fleet_counters
        self._tariff = tariff
        self._most_tokens = collection_tokens_per_day
        self._open = client.register_script(_script("open_bill"))
        self._settle = client.register_script(_script("settle_bill"))

    @contextmanager
    def billing(self, caller: Caller, model: str, tokens: int, output_tokens: int = 0) -> Iterator[Bill]:
        """Open a bill for calls that send and get about so many tokens, and settle it when the block ends.

        Where a call outlives its caller, the bill stays open: see `settle_later`.

        Raises:
            Refused: The collection's tokens of today are used up, or the key's budget, or what of it extras may use.
            BudgetUsedUp: The key's budget is used up, and the caller has time to wait for another day.
        """
        bill = self._opened(caller, model, tokens, output_tokens)
        try:
            yield bill
        finally:
            if not bill.is_left_open:
                self.settle(bill)

    def settle_later(self, bill: Bill, cut: CutShort, add: Callable[[Bill, Any], None]) -> None:
        """Settle a bill when the reply comes that was too late for its caller. ``add`` adds the reply to the bill."""
        bill.is_left_open = True

        def settle(reply: "Future[Any]") -> None:
            if not reply.cancelled() and reply.exception() is None and reply.result() is not None:
                add(bill, reply.result())
            self.settle(bill)

        cut.reply.add_done_callback(settle)

    def settle(self, bill: Bill) -> None:
        """Add what a bill has come to, to the sums of the fleet, and to the counts of the step that asked.

        If the board is away or refuses it, the sums lack it: a reply that was paid for is not lost for that.
        """
        cost = self._tariff.cost(bill.model, bill.calls, bill.input_tokens, bill.output_tokens)
        used = cost.input_tokens + cost.output_tokens
        if cost.cost_nanos:
            self._fleet_counters.count("provider_cost_nanos/" + bill.caller.lane, cost.cost_nanos)
        if used:
            job_counts.current().costs.append(cost)
        if not used and not bill.held_tokens and not bill.held_nanos:
            return
        try:
            self._settle(keys=[costs.SLOT], args=_arguments(bill, cost))
        except (*AWAY, redis.ResponseError) as error:
            _log.warning("the sums of costs lack a call", model=bill.model, error=type(error).__name__)

    def _opened(self, caller: Caller, model: str, sent: int, written: int) -> Bill:
        if self._most_tokens is None and not caller.owner:
            return Bill(caller, model)
        nanos = self._tariff.cost(model, 1, sent, written).cost_nanos or 0
        asked: list[str | int] = [
            caller.collection, sent + written, self._most_tokens or 0, caller.owner, nanos, int(caller.is_extra),
            costs.EXTRAS_PERCENT, costs.BUDGETS,
        ]  # fmt: skip
        verdict, day, used, limit, left_ms = self._open(keys=[costs.SLOT], args=asked)
        match verdict.decode():
            case "ok":
                held = sent + written if self._most_tokens else 0
                return Bill(caller, model, held, nanos if int(limit) else 0, int(day))
            case "tokens":
                of = f"{int(used)} of {int(limit)} today"
                said = f"daily token budget of collection {caller.collection!r} is used up ({of})"
                raise Refused(said, code="budget")
            case refused:
                self._fleet_counters.count("over_budget/" + caller.lane)
                raise self._refusal(caller, refused, int(used), int(limit), left_ms / 1000)

    def _refusal(self, caller: Caller, verdict: str, spent: int, budget: int, left_s: float) -> Exception:
        of = f"{money(spent, self._tariff.currency)} of {money(budget, self._tariff.currency)} today"
        if verdict == "extras":
            said = f"budget: the API key has spent {of}, and the rest is kept for what it cannot do without"
            return Refused(said, code="budget")
        said = f"budget: that of the API key is used up ({of})"
        if caller.expires_at is not None:
            return Refused(said, code="budget")
        return BudgetUsedUp(said, again_in_s=min(left_s, LOOK_AGAIN_S))


def _arguments(bill: Bill, cost: ModelCost) -> list[str | int]:
    used, caller = cost.input_tokens + cost.output_tokens, bill.caller
    correction = used - bill.held_tokens if bill.held_tokens else 0
    nanos = cost.cost_nanos or 0
    # A model without a price weighs as one at a thousandth of a unit per million tokens.
    weight = nanos or used
    subjects = [("model", ""), ("collection", caller.collection), ("key", caller.owner or costs.NO_KEY)]
    subjects += [("label", f"{name}={value}") for name, value in caller.labels.items()]
    return [
        bill.day, caller.collection, correction, caller.owner, bill.held_nanos,
        _one_word(cost.model), cost.currency, cost.calls, cost.input_tokens, cost.output_tokens, nanos, weight,
        costs.MAX_SUBJECTS, costs.OTHERS, _KEPT_MS,
        *(word for subject in subjects for word in subject),
    ]  # fmt: skip


def _one_word(model: str) -> str:
    """Return a model's name without what separates the parts of a line."""
    return "".join(letter if letter.isprintable() else " " for letter in model)


@cache
def _script(name: str) -> str:
    folder = resources.files("querymill_workers.inference") / "lua"
    return with_prelude("\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in ("purse", name)))
