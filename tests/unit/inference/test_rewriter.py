import pytest

from querymill_workers.inference.rewriter import usable
from querymill_workers.jobs.faults import CallFailed

TABLE = "| Item | Value |\n|---|---|\n| Revenue | 12.4 |"


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("hyde", "Revenue was 12.4 million."),
        ("hyde", "I'm sorry, but I can't help with that request."),
        ("hyde", "<think>a | table | perhaps</think>no"),
        ("variant", "抱歉，我无法回答。"),
        ("variant", "<think>what now"),
    ],
)
def test_refusals_and_replies_without_a_table_are_of_no_use(method: str, reply: str) -> None:
    with pytest.raises(CallFailed):
        usable(method, reply)


def test_reasoning_is_no_part_of_a_reply() -> None:
    assert usable("hyde", f"<think>let me see</think>\n{TABLE}") == TABLE
    assert usable("variant", "<what did sales do>") == "<what did sales do>"
