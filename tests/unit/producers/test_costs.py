"""What was spent, as rows: money is added by currency, and tokens without a price stand apart."""

from querymill.costs import cost_of, rows_by
from querymill.gateway.console.spending import spent_of
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.costs import Dimension, Sums


def cost(model: str, tokens: int, nanos: int | None, currency: str = "USD") -> ModelCost:
    return ModelCost(
        model=model, calls=1, input_tokens=tokens, output_tokens=0, cost_nanos=nanos,
        currency="" if nanos is None else currency,
    )  # fmt: skip


def sums(day: str, dimension: Dimension, subject: str, *costs: ModelCost) -> Sums:
    return Sums(day, dimension, subject, costs)


WORDS, CHAT, FREE = cost("words", 10, 200), cost("chat", 100, 50_000), cost("free", 7, None)
SUMS = [
    sums("2026-07-27", "model", "", WORDS, CHAT, FREE),
    sums("2026-07-27", "collection", "filings", WORDS, CHAT),
    sums("2026-07-27", "collection", "chats", FREE),
    sums("2026-07-26", "model", "", WORDS),
    sums("2026-07-26", "collection", "chats", WORDS),
]


def test_what_costs_most_comes_first_and_days_come_as_they_are() -> None:
    assert [(row.name, row.money) for row in rows_by("collection", SUMS)] == [
        ("filings", "USD 0.0000502"),
        ("chats", "USD 0.0000002 + 7 tokens without a price"),
    ]
    assert [(row.name, row.tokens) for row in rows_by("model", SUMS)] == [("chat", 100), ("words", 20), ("free", 7)]
    assert [(row.name, row.calls) for row in rows_by("day", SUMS)] == [("2026-07-27", 3), ("2026-07-26", 1)]


def test_money_of_two_currencies_is_not_added() -> None:
    assert cost_of([WORDS, cost("words", 1, 3_000_000_000, "EUR")]).money == "USD 0.0000002 + EUR 3.00"
    assert cost_of([FREE]).money == "no price"
    assert cost_of([]).money == ""


def test_the_overview_tells_today_from_yesterday() -> None:
    spent = spent_of(SUMS, 1_785_110_400 + 3_600, days=31)
    assert (spent.today.calls, spent.yesterday.calls, spent.together.calls) == (3, 1, 4)
    assert [(by, [row.name for row in rows]) for by, rows in spent.dearest] == [
        ("collection", ["filings", "chats"]), ("key", []), ("label", []),
    ]  # fmt: skip
