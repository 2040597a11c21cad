"""The names of a file search's steps: what is written is read back, and the names on the board stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_shared.queues import Queue

ROUNDS, PARTS = st.integers(1, 999), st.integers(1, 999)
STEPS = st.one_of(
    st.builds(FileStep, st.just("search"), ROUNDS, st.sampled_from(["words", "vectors", "patterns"])),
    st.builds(FileStep, st.sampled_from(["search", "evaluate"]), ROUNDS, PARTS),
    st.builds(FileStep, st.just("plan"), ROUNDS),
)
#: The names of steps on the board, which workers of other releases read.
ON_THE_BOARD = {
    "search-1-words": FileStep("search", 1, "words"),
    "search-1-vectors": FileStep("search", 1, "vectors"),
    "search-1-patterns": FileStep("search", 1, "patterns"),
    "search-2-01": FileStep("search", 2, 1),
    "evaluate-1-02": FileStep("evaluate", 1, 2),
    "evaluate-3-10": FileStep("evaluate", 3, 10),
    "plan-3": FileStep("plan", 3),
}


@given(STEPS)
def test_a_step_that_is_written_is_read_back(step: FileStep) -> None:
    assert FileStep.parse(str(step)) == step


@given(st.one_of(st.text(max_size=30), st.from_regex(r"(search|evaluate|plan)(-[0-9a-z]{0,5}){0,4}", fullmatch=True)))
def test_any_text_is_a_step_written_that_way_or_none(name: str) -> None:
    step = FileStep.parse(name)
    assert step is None or str(step) == name


@pytest.mark.parametrize("name", ON_THE_BOARD)
def test_the_names_on_the_board_stay_as_they_are(name: str) -> None:
    assert FileStep.parse(name) == ON_THE_BOARD[name]
    assert str(ON_THE_BOARD[name]) == name


UNKNOWN = [
    "", "plan", "plan-1-01", "plan-0", "plan-01", "search-1", "search-1-smell", "search-0-words", "search-2-1",
    "search-2-00", "evaluate-1", "evaluate-1-words", "evaluate-1-001", "evaluate-1-01-01", "rerank-1-01", "search-١-01",
    "evaluate-1-١١", f"plan-{'9' * 5_000}", "plan-1\n", " plan-1", "compare",
]  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_that_this_release_does_not_write_is_none(name: str) -> None:
    assert FileStep.parse(name) is None


@pytest.mark.parametrize("name", [*ON_THE_BOARD, *UNKNOWN])
def test_every_name_has_a_queue_and_only_a_judged_evaluation_another(name: str) -> None:
    judged = FileSearch(query="q", collection="c", evaluator="judge")
    assert judged.queue_of(name) == (Queue.RERANK if name in ("evaluate-1-02", "evaluate-3-10") else Queue.SEARCH)
    assert FileSearch(query="q", collection="c").queue_of(name) == Queue.SEARCH
