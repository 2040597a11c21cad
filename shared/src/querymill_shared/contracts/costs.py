"""What calls of models cost: the price of a model, and what a job spent on each.

Money is counted in whole billionths of the currency's unit ("nanos"), because sums of fractions would drift. A question
of ten tokens at 0.02 per million costs 200 of them, which millionths could not tell from nothing.
"""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from querymill_shared.contracts.fields import Contract

#: Nanos in one unit of the currency.
NANOS: Final = 1_000_000_000
#: A price is for so many tokens.
PRICED_TOKENS: Final = 1_000_000

_Price = Annotated[Decimal, Field(ge=0, le=1_000_000, max_digits=16, decimal_places=9)]


class ModelPrice(BaseModel):
    """The price of a model, in units of the currency per million tokens. A model of vectors has none for its output."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    input: _Price
    output: _Price = Decimal(0)

    def nanos(self, input_tokens: int, output_tokens: int) -> int:
        """Return what a call costs, to the nearest nano.

        At 0.15 and 0.60 per million, 1,200 tokens of a prompt and 80 of its reply cost 228,000 nanos: 0.000228.
        """
        exact = (input_tokens * self.input + output_tokens * self.output) * (NANOS // PRICED_TOKENS)
        return int(exact.to_integral_value(ROUND_HALF_UP))


class ModelCost(Contract):
    """What calls of one model took, and what they cost."""

    model: str = Field(description="the model's name, as the settings have it")
    calls: int = Field(description="calls of its provider that were answered; what a cache had is none")
    input_tokens: int = Field(description="tokens that were sent; estimated where the provider does not say")
    output_tokens: int = Field(description="tokens of the replies; estimated where the provider does not say")
    cost_nanos: int | None = Field(
        None, description="what they cost, in billionths of the currency's unit; null: the model has no price"
    )
    currency: str = Field("", description="the currency's name, as QUERYMILL_CURRENCY has it; empty without a price")


def added(costs: Iterable[ModelCost]) -> tuple[ModelCost, ...]:
    """Return costs with one entry for each model, in the order in which the models came.

    What a model cost without a price, or in another currency, is an entry of its own: it cannot be added.
    """
    sums: dict[tuple[str, str], ModelCost] = {}
    for cost in costs:
        whose = cost.model, cost.currency
        sums[whose] = _sum(sums[whose], cost) if whose in sums else cost
    return tuple(sums.values())


def _sum(one: ModelCost, other: ModelCost) -> ModelCost:
    nanos = None if one.cost_nanos is None else one.cost_nanos + (other.cost_nanos or 0)
    return ModelCost(
        model=one.model,
        calls=one.calls + other.calls,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cost_nanos=nanos,
        currency=one.currency,
    )


def money(nanos: int, currency: str) -> str:
    """Return an amount as people read it: to the cent from one unit on, else with three digits that tell something.

    >>> money(12_345_678_901, "USD"), money(228_000, "USD"), money(0, "EUR")
    ('USD 12.35', 'USD 0.000228', 'EUR 0')
    """
    amount = Decimal(nanos) / NANOS
    if abs(amount) >= 1:
        return f"{currency} {amount:,.2f}"
    digits = 2 - amount.adjusted() if amount else 0
    shown = f"{amount:.{min(digits, 9)}f}"
    return f"{currency} {shown.rstrip('0').rstrip('.') if '.' in shown else shown}"
