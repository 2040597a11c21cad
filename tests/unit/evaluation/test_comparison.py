"""Which of two runs is better, in plain words; runs that cannot be compared are refused."""

from pathlib import Path

import pytest

from querymill_evaluation.comparison import as_figures, compare_runs, in_words
from querymill_evaluation.runs import BadRun, QueryOutcome, RunHead, SavedRun, append_outcome, begin_run, read_run

QUESTIONS = [f"q{number:02}" for number in range(20)]
QRELS = {query: {"right": 1} for query in QUESTIONS}


def run_of(folder: Path, ranks: list[int], *, asked: list[str] = QUESTIONS, **head: object) -> SavedRun:
    """Save a run that has the right document at these ranks; 0 is nowhere."""
    fields = {"set": "s", "kind": "reports", "questions": "same", "asked": len(asked)} | head
    begin_run(folder, RunHead.model_validate(fields))
    for query, rank in zip(asked, ranks, strict=True):
        others = {f"other{number}": 1 / number for number in range(1, max(rank, 1))}
        scores = others | ({"right": 1 / rank} if rank else {})
        append_outcome(folder, QueryOutcome(query, scores, 10.0, 1, 7, degraded=False), QRELS)
    return read_run(folder)


def said(folder: Path, a: list[int], b: list[int]) -> list[str]:
    return list(in_words(compare_runs(run_of(folder / "a", a), run_of(folder / "b", b))))


def test_a_better_run_is_called_better_with_figures_and_how_sure_that_is(tmp_path: Path) -> None:
    words = said(tmp_path, [2] * 20, [1] * 15 + [2] * 5)
    assert words[0] == "B is better than A, by 0.277 nDCG@10 on the average of 20 questions."
    assert words[1].startswith("How sure: other questions of the same sort would give a difference between +0.2")
    assert words[1].endswith("B wins in 100.0% of 10,000 redraws of the questions.")
    assert words[2].startswith("ndcg@10    A 0.631   B 0.908   difference +0.277   95 % interval +0.2")
    assert words[-2] == (
        "Cost: A 10 ms (median), 1.00 provider calls and 7 tokens a question;"
        " B 10 ms (median), 1.00 provider calls and 7 tokens a question."
    )
    assert words[-1] == "B is better for 15 questions, worse for 0, equal for 5."


def test_the_other_way_round_a_is_better(tmp_path: Path) -> None:
    words = said(tmp_path, [1] * 15 + [2] * 5, [2] * 20)
    assert words[0] == "A is better than B, by 0.277 nDCG@10 on the average of 20 questions."
    assert "A wins in 100.0% of" in words[1]
    assert words[-1].startswith(
        "B is better for 0 questions, worse for 15, equal for 5. It loses most on: q00, q01, q02"
    )


def test_chance_is_called_chance(tmp_path: Path) -> None:
    words = said(tmp_path, [1, 2] * 10, [2, 1] * 10)
    assert words[0] == "These 20 questions do not show which is better."
    assert words[1].endswith("The interval holds 0, so it may be chance: ask more questions.")


def test_runs_that_rank_alike_are_called_alike(tmp_path: Path) -> None:
    words = said(tmp_path, [1] * 20, [1] * 20)
    assert words[1] == "Both rank the judged documents alike for every question."


def test_figures_have_both_runs_and_the_differences(tmp_path: Path) -> None:
    compared = compare_runs(run_of(tmp_path / "a", [2] * 20), run_of(tmp_path / "b", [1] * 20, options={"top_n": 3}))
    figures = as_figures(compared)
    assert (figures["verdict"], figures["questions"]) == ("better", 20)
    assert figures["b"] == {"options": {"top_n": 3}, "ndcg@10": 1.0, "recall@10": 1.0, "mrr@10": 1.0}
    assert figures["differences"]["mrr@10"]["mean"] == pytest.approx(0.5)


REFUSED = [
    ({"asked": ["p", *QUESTIONS[1:]]}, "questions: must be the same; only A asked 1 of them, and only B 1"),
    ({"questions": "other"}, "questions: must be the same; their ids are, but a text or a judgement differs"),
    ({"kind": "files"}, "kind: must be the same, is 'reports' and 'files'"),
    ({"sampled": {"distractors": 3}}, "documents: must be the same, are cut by"),
]


@pytest.mark.parametrize(("differing", "rule"), REFUSED)
def test_runs_over_other_questions_or_documents_are_refused(
    tmp_path: Path, differing: dict[str, object], rule: str
) -> None:
    a = run_of(tmp_path / "a", [1] * 20)
    b = run_of(tmp_path / "b", [1] * 20, **differing)  # type: ignore[arg-type]  # a field of the head, or the questions
    with pytest.raises(BadRun) as refused:
        compare_runs(a, b)
    assert str(refused.value).startswith(rule)


def test_a_run_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    whole = run_of(tmp_path / "a", [1] * 20)
    begin_run(tmp_path / "b", RunHead(set="s", kind="reports", questions="same", asked=20))
    with pytest.raises(BadRun, match="must be finished, 0 of 20 questions are answered"):
        compare_runs(whole, read_run(tmp_path / "b"))
