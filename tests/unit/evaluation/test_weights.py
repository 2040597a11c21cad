"""Weights are chosen on one half of the questions and tested on the other."""

import json

import pytest

from querymill_evaluation.weights import TRIED, halves, in_words, propose
from querymill_shared.contracts.jobs import validate_request

QUESTIONS = [f"q{number}" for number in range(40)]


def test_a_setting_that_is_better_for_each_question_is_proposed() -> None:
    # With the defaults at 0.5 for each question, and a setting at 0.7 for each, its difference is 0.2 for sure.
    defaults, better, worse = (dict.fromkeys(QUESTIONS, value) for value in (0.5, 0.7, 0.4))
    proposal = propose(defaults, [({"vectors_weight": 0.1}, worse), ({"vectors_weight": 0.5}, better)])
    assert proposal.options == {"vectors_weight": 0.5}
    assert (proposal.difference.mean, proposal.difference.low, proposal.difference.high) == (0.2, 0.2, 0.2)
    assert in_words(proposal)[0] == "Proposed: vectors_weight=0.5."


def test_what_was_lucky_on_one_half_is_not_proposed() -> None:
    first, second = halves(QUESTIONS)
    defaults = dict.fromkeys(QUESTIONS, 0.5)
    lucky = dict.fromkeys(first, 1.0) | dict.fromkeys(second, 0.5)
    proposal = propose(defaults, [({"vectors_weight": 2.0}, lucky)])
    assert (proposal.is_worth_it, proposal.chosen_on, proposal.difference.mean) == (False, 20, 0.0)
    assert in_words(proposal)[0] == "Keep the defaults."


def test_halves_have_each_question_once_and_do_not_follow_the_file() -> None:
    first, second = halves(QUESTIONS)
    assert sorted(first + second) == sorted(QUESTIONS)
    assert (len(first), halves(QUESTIONS[::-1])) == (20, (first, second))


@pytest.mark.parametrize("kind", TRIED)
def test_what_is_tried_are_fields_of_the_kind(kind: str) -> None:
    for options in TRIED[kind]:  # type: ignore[index]
        validate_request(json.dumps({"kind": kind, "collection": "c", "query": "q", **options}))
