import time

import pytest

from querymill_workers.retrievers.conversations.rules.numbered_names import numbers_of, with_numbers


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("PR 178", ["178"]),
        ("what was wrong in PR #178?", ["178"]),
        ("pr-178 and issue 412", ["178", "412"]),
        ("#4120", ["4120"]),
        ("middleware.ts line 48", ["48"]),
        ("order 88-1042", ["88-1042"]),
        ("Ubuntu 10.4 mouse", ["10.4"]),
        ("工单20951的邮件", ["20951"]),
        ("端口 5432 连不上", ["5432"]),
        # A number that counts or measures names nothing.
        ("2 workers wait for each other", []),
        ("retry after 30 seconds", []),
        ("in 2023", []),
        ("about 400 characters", []),
        ("the call takes 30 seconds or 40 ms, for 20% of users", []),
        ("等待 30 秒，重试 3 次", []),
        ("port 80ms", []),
        ("utf8 and x86_64", []),
        ("", []),
    ],
)
def test_the_number_after_a_name_says_which_one_is_meant(question: str, numbers: list[str]) -> None:
    assert numbers_of(question) == numbers


def test_such_a_number_counts_three_times() -> None:
    assert with_numbers("PR 178 is red") == "PR 178 is red\n178\n178"
    assert with_numbers("the red build") == "the red build"


def test_in_a_long_question_a_number_is_a_detail() -> None:
    question = "Since upgrading to Ubuntu 10.4 my mouse no longer scrolls in any window"
    assert with_numbers(question) == question


@pytest.mark.parametrize(
    "text", ["a " * 50_000, "1" * 100_000, "a1 " * 33_000, " " * 20_000 + "1", "a-" * 50_000, "1-" * 50_000]
)
def test_long_texts_take_no_time(text: str) -> None:
    started = time.process_time()
    numbers_of(text)
    assert time.process_time() - started < 0.5
