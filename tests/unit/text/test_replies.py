import pytest

from querymill_workers.text.replies import has_table, is_refusal


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't help with that request.",
        "Sorry, no.",
        "I cannot answer.",
        "抱歉，我无法回答。",
        "As an AI model",
    ],
)
def test_refusals(reply: str) -> None:
    assert is_refusal(reply)


@pytest.mark.parametrize("reply", ["| Revenue | 12.4 |", "Revenue rose.", "<what did sales do>", "公司收入增长"])
def test_replies_that_are_none(reply: str) -> None:
    assert not is_refusal(reply)


def test_a_table_has_a_row_with_bars() -> None:
    assert has_table("Here:\n| Item | Value |\n|---|---|")
    assert has_table("Revenue | 12 | 13")
    assert not has_table("I do not know | maybe")
