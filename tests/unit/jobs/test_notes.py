import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from querymill_shared.board import Step
from querymill_workers.jobs.notes import FailureNotes, Notes, StepNotes


class Counted(StepNotes):
    """Notes with a field that has no default."""

    total: int


def step(**notes: object) -> Step:
    return Step("only", "done", 1, notes=notes)


def test_notes_are_read_back_as_they_were_written() -> None:
    notes = Counted(total=3, timing={"embed": 1.5}, usage={"provider_calls": 2, "tokens": 7})
    assert Counted.of(step(**notes.for_board())) == notes


def test_the_keys_on_the_board_are_the_names_of_the_fields() -> None:
    assert Counted(total=3).for_board() == {"total": 3, "timing": {}, "usage": {}}


def test_fields_of_a_newer_release_are_ignored() -> None:
    assert Counted.of(step(total=1, routing="of a newer release")) == Counted(total=1)


def test_notes_without_timing_and_usage_are_read() -> None:
    assert StepNotes.of(step()) == StepNotes(timing={}, usage={})


def test_a_step_that_noted_nothing_has_no_field_without_a_default() -> None:
    with pytest.raises(ValidationError, match="total"):
        Counted.of(step())


def test_notes_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Counted(total=1).total = 2


@pytest.mark.parametrize(("notes", "dead"), [({}, False), ({"dead": False}, False), ({"dead": True}, True)])
def test_a_failed_step_says_whether_its_workers_kept_dying(notes: dict[str, bool], dead: bool) -> None:
    assert FailureNotes.of(step(**notes)).dead is dead


def test_notes_without_fields_read_everything() -> None:
    assert Notes.of(step(anything=[1, {"deep": None}])).for_board() == {}


counts = st.dictionaries(st.text(max_size=8), st.integers(0, 2**31), max_size=3)
times = st.dictionaries(st.text(max_size=8), st.floats(0, 1e9), max_size=3)


@given(times, counts, st.integers())
def test_notes_survive_the_boards_json(timing: dict[str, float], usage: dict[str, int], total: int) -> None:
    notes = Counted(total=total, timing=timing, usage=usage)
    assert Counted.of(step(**json.loads(json.dumps(notes.for_board())))) == notes
