"""What steps leave on the board: the release before and the one after read it, and we read theirs."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.board import Step
from querymill_workers.jobs.notes import FailureNotes, Notes
from querymill_workers.retrievers.files.notes import (
    CompareNotes,
    EvaluationNotes,
    IngestNotes,
    PlanNotes,
    SearchNotes,
)

#: As workers of the release before wrote them.
WRITTEN: list[tuple[type[Notes], str]] = [
    (SearchNotes, '{"found": {"words": ["a.py", "b.py"]}, "timing": {"search": 1.5}}'),
    (
        SearchNotes,
        '{"found": {"vectors": []}, "usage": {"provider_calls": 1, "tokens": 3}, "degraded": [], "timing": {}}',
    ),
    (
        SearchNotes,
        '{"found": {"glob docs/*.py": ["docs/a.py"]}, "degraded": [{"stage": "search-1-patterns", "reason": "x*"}]}',
    ),
    (
        EvaluationNotes,
        '{"files": {"a.py": {"evidence": {"lexical": 0.5, "covered": 1.0, "path": 0.0, "names": 0.0, "passage": 0.1,'
        ' "vector": null}, "tokens": 9, "excerpt": [[1, 40], [61, 80]], "words": ["restor"], "names": [],'
        ' "excerpt_tokens": 4, "relevance": 0.9, "judged": true}}, "usage": {"provider_calls": 1, "tokens": 7},'
        ' "judged_tokens": 7, "degraded": []}',
    ),
    (PlanNotes, '{"patterns": ["Mutex"], "gaps": ["Mutex"], "stop": null, "timing": {"plan": 0.2}}'),
    (PlanNotes, '{"patterns": [], "gaps": [], "stop": "rounds"}'),
    (IngestNotes, '{"total": 2, "ingested": 1, "symbols": 3, "chunks": 1, "pending": 1}'),
    (CompareNotes, '{"total": 1, "changed": ["a.py"], "removed": [], "pending": 0}'),
]


def step_with(notes: dict[str, Any], *, state: Any = "done") -> Step:
    return Step("search-1-words", state, 1, notes=notes)


@pytest.mark.parametrize(("kind", "written"), WRITTEN)
def test_notes_are_read_and_written_as_the_release_before_did(kind: type[Notes], written: str) -> None:
    notes = json.loads(written)
    assert kind.of(step_with(notes)).for_board() == notes


@pytest.mark.parametrize(("kind", "written"), WRITTEN)
def test_what_a_later_release_notes_besides_is_ignored(kind: type[Notes], written: str) -> None:
    notes = json.loads(written)
    files = {path: {**file, "later": 1} for path, file in notes.get("files", {}).items()}
    later = {**notes, "later": {"a": 1}} | ({"files": files} if files else {})
    assert kind.of(step_with(later)) == kind.of(step_with(notes))


@pytest.mark.parametrize("kind", [SearchNotes, EvaluationNotes, PlanNotes])
def test_a_step_that_failed_or_is_open_noted_nothing(kind: type[Notes]) -> None:
    failed = step_with(FailureNotes(dead=True).for_board(), state="failed")
    assert kind.of(failed) == kind.of(step_with({}, state="waiting")) == kind()


def test_notes_of_another_shape_are_an_error_and_not_a_guess() -> None:
    with pytest.raises(ValidationError, match="relevance"):
        EvaluationNotes.of(step_with({"files": {"a.py": {"tokens": 1}}}))


def test_notes_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PlanNotes().stop = "rounds"
