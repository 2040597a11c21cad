"""What calls of models cost: whole billionths, added up by model."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.costs import ModelCost, ModelPrice, added, money
from querymill_shared.settings import Settings


def test_a_call_costs_its_tokens_at_the_prices_of_a_million() -> None:
    price = ModelPrice(input=Decimal("0.15"), output=Decimal("0.60"))
    assert price.nanos(1_200, 80) == 228_000
    assert ModelPrice(input=Decimal("0.02")).nanos(10, 0) == 200


def test_a_fraction_of_a_nano_is_rounded_once_per_call() -> None:
    assert [ModelPrice(input=Decimal("0.0001")).nanos(tokens, 0) for tokens in (4, 5, 14, 15)] == [0, 1, 1, 2]


@pytest.mark.parametrize("price", ['{"input": -1}', '{"output": 1}', '{"input": 1, "per": 2}', '{"input": "NaN"}'])
def test_what_is_no_price_is_refused(price: str) -> None:
    with pytest.raises(ValidationError):
        ModelPrice.model_validate_json(price)


def test_prices_are_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYMILL_PRICES", '{"gpt-5-mini": {"input": 0.25, "output": 2}, "words": {"input": 0.02}}')
    prices = Settings().querymill_prices
    assert {model: price.nanos(1_000, 100) for model, price in prices.items()} == {
        "gpt-5-mini": 450_000,
        "words": 20_000,
    }
    assert Settings().querymill_currency == "USD"


def cost(model: str, calls: int, sent: int, written: int, nanos: int | None) -> ModelCost:
    currency = "" if nanos is None else "USD"
    return ModelCost(
        model=model, calls=calls, input_tokens=sent, output_tokens=written, cost_nanos=nanos, currency=currency
    )


def test_costs_are_added_by_model() -> None:
    assert added([cost("a", 1, 10, 5, 100), cost("b", 1, 7, 0, None), cost("a", 2, 20, 1, 50)]) == (
        cost("a", 3, 30, 6, 150),
        cost("b", 1, 7, 0, None),
    )


def test_what_had_no_price_is_not_added_to_what_had_one() -> None:
    """The price of a model may be set while a job runs."""
    both = [cost("a", 1, 10, 5, None), cost("a", 1, 10, 5, 100)]
    assert added(both) == tuple(both)


@pytest.mark.parametrize(
    ("nanos", "shown"),
    [(0, "0"), (200, "0.0000002"), (228_000, "0.000228"), (50_000_000, "0.05"), (999_900_000, "1"),
     (12_345_678_901, "12.35"), (9_876_543_210_000, "9,876.54")],
)  # fmt: skip
def test_money_is_shown_to_the_cent_or_with_three_digits(nanos: int, shown: str) -> None:
    assert money(nanos, "USD") == f"USD {shown}"
