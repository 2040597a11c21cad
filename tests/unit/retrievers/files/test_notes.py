"""What the steps of a file search leave on the board."""

from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.board import Step
from querymill_workers.jobs.notes import FailureNotes, Notes
from querymill_workers.retrievers.files.notes import (
    EvaluationNotes,
    FileSearchNotes,
    PlanNotes,
)


def step_with(notes: dict[str, Any], *, state: Any = "done") -> Step:
    return Step("search-1-words", state, 1, notes=notes)


@pytest.mark.parametrize("kind", [FileSearchNotes, EvaluationNotes, PlanNotes])
def test_a_step_that_failed_or_is_open_noted_nothing(kind: type[Notes]) -> None:
    failed = step_with(FailureNotes(dead=True).for_board(), state="failed")
    assert kind.of(failed) == kind.of(step_with({}, state="waiting")) == kind()


def test_notes_of_another_shape_are_an_error_and_not_a_guess() -> None:
    with pytest.raises(ValidationError, match="relevance"):
        EvaluationNotes.of(step_with({"files": {"a.py": {"tokens": 1}}}))


def test_notes_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PlanNotes().stop = "rounds"
