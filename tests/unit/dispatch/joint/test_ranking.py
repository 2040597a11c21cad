"""The ranking of hits of several kinds: worked examples, and what must hold for any hits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.dispatch.joint.rules.ranking import (
    FIRST,
    FLOOR,
    K,
    grouped,
    rank_jointly,
    worths_of,
)
from querymill_workers.dispatch.joint.rules.routing import ENOUGH, said_of

QUESTION = "where is the kettle"


def test_the_worked_example() -> None:
    """Both first hits have "red", one has "kettle", and none has "price".

    idf: red ln(1 + 0.5 / 2.5) = 0.182, kettle ln(1 + 1.5 / 1.5) = 0.693, price ln(1 + 2.5 / 0.5) = 1.792; in all 2.667.
    The pan says 0.182 / 2.667 = 0.068 of the question, the kettle 0.875 / 2.667 = 0.328.
    """
    branches = {"files/a": ["a red pan"], "reports/b": ["the red kettle"]}
    worths = worths_of("red kettle price", branches)
    whole = math.log(1.2) + math.log(2) + math.log(6)
    assert worths["files/a"].share == pytest.approx(math.log(1.2) / whole, abs=1e-6)
    assert worths["reports/b"].share == pytest.approx((math.log(1.2) + math.log(2)) / whole, abs=1e-6)
    ranking = rank_jointly("red kettle price", branches)
    assert [hit.branch for hit in ranking] == ["reports/b", "files/a"]
    best = ranking[0]
    assert best.score == pytest.approx(best.worth.factor * best.worth.share / (K + 1), abs=1e-6)


def test_a_branch_that_says_more_of_the_question_comes_first_and_does_not_push_all_others_out() -> None:
    ranking = rank_jointly(
        QUESTION, {"messages/a": ["a pan"] * 10, "conversations/b": ["the kettle is there"] + ["a kettle"] * 9}
    )
    assert ranking[0].branch == "conversations/b"
    assert [hit.rank for hit in ranking if hit.branch == "messages/a"] == list(range(1, 11))


def test_only_the_first_hits_say_what_a_branch_is_worth() -> None:
    texts = ["a pan"] * FIRST + [QUESTION]
    assert worths_of(QUESTION, {"files/a": texts})["files/a"].share == FLOOR


def test_the_only_hit_is_the_first_whatever_it_says() -> None:
    ranking = rank_jointly(QUESTION, {"files/a": [], "reports/b": ["nothing of the sort"], "messages/c": []})
    assert [(hit.branch, hit.rank) for hit in ranking] == [("reports/b", 1)]
    assert ranking[0].score > 0


def test_equal_hits_stand_in_the_order_of_the_branches() -> None:
    ranking = rank_jointly("kettle", {"messages/z": ["kettle"], "messages/a": ["kettle"]})
    assert [hit.branch for hit in ranking] == ["messages/z", "messages/a"]


def test_hits_are_grouped_by_kind_of_the_best_hit_first() -> None:
    ranking = rank_jointly(
        "kettle", {"files/a": ["pan", "pot"], "messages/b": ["kettle", "pan"], "messages/c": ["kettle"]}
    )
    assert [(hit.branch, hit.rank) for hit in grouped(ranking, 2)] == [
        ("messages/b", 1), ("messages/c", 1), ("files/a", 1), ("files/a", 2),
    ]  # fmt: skip


TEXTS = st.lists(st.text(alphabet="abc ", max_size=12), max_size=6)
BRANCHES = st.dictionaries(st.sampled_from(["files/a", "messages/a", "reports/b", "modules/c"]), TEXTS, max_size=4)


@given(question=st.text(alphabet="abc ", max_size=20), branches=BRANCHES)
def test_every_hit_is_there_once_and_in_the_order_of_its_branch(question: str, branches: dict[str, list[str]]) -> None:
    ranking = rank_jointly(question, branches)
    assert len(ranking) == sum(map(len, branches.values()))
    for branch, hits in branches.items():
        assert [hit.rank for hit in ranking if hit.branch == branch] == list(range(1, len(hits) + 1))
    assert all(0 < hit.score <= 1 for hit in ranking)


def test_enough_is_half_of_the_words_of_the_question_in_one_hit() -> None:
    """The worked example: of hold, max_retries, max and retri, the first has three and the other one."""
    question = "Why does max_retries not hold?"
    assert said_of(question, ["max_retries = 3", "nothing else holds"]) == 0.75 > ENOUGH
    assert said_of(question, ["nothing else holds"]) == 0.25 < ENOUGH
    assert said_of(question, []) == said_of("???", ["nothing"]) == 0.0
