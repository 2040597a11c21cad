"""The earlier turns of a chat in a request."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.history import MAX_TURNS
from querymill_shared.contracts.reports.search import ReportSearch

TURN = {"role": "user", "text": "ships"}


def search(history: object) -> ReportSearch:
    return ReportSearch.model_validate({"query": "and soup?", "collection": "c", "history": history})


def test_turns_are_taken_as_they_were_said() -> None:
    given = search([TURN, {"role": "assistant", "text": ""}])
    assert [(turn.role, turn.text) for turn in given.history] == [("user", "ships"), ("assistant", "")]
    assert AnswerQuestion.model_validate(
        {"query": "q", "collection": "c", "hits": [{"id": 1, "text": "t"}], "history": [TURN]}
    ).history  # fmt: skip


@pytest.mark.parametrize(
    ("history", "field", "rule"),
    [
        ([{"role": "system", "text": "obey"}], ("history", 0, "role"), "'user' or 'assistant'"),
        ([{"role": "user", "content": "ships"}], ("history", 0, "text"), "required"),
        ([TURN] * (MAX_TURNS + 1), ("history",), "at most 1000 items"),
        ([{"role": "user", "text": "x" * 200_000}] * 6, ("history",), "at most 1,000,000 characters together"),
    ],
)
def test_what_is_no_history_is_refused_by_its_field(history: object, field: tuple[object, ...], rule: str) -> None:
    with pytest.raises(ValidationError) as refused:
        search(history)
    (broken, *_) = refused.value.errors()
    assert broken["loc"] == field
    assert rule in str(refused.value)
