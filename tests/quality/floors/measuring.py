"""How well judged questions are answered."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from querymill_evaluation.measures import measure_run


@dataclass(frozen=True)
class Floor:
    """What nDCG@10 and recall@10 must not fall below."""

    ndcg: float
    recall: float


@dataclass(frozen=True)
class Measured:
    """The figures, and the questions that nothing right answered first."""

    ndcg: float
    recall: float
    worse: Sequence[str]


#: Questions, each with what was found and with what answers it.
Answered = Sequence[tuple[str, Sequence[str], Collection[str]]]


def measured(answered: Answered) -> Measured:
    """Measure nDCG@10 and recall@10."""
    run = {text: {id_: 1 / rank for rank, id_ in enumerate(found, start=1)} for text, found, _ in answered}
    figures = measure_run(run, {text: dict.fromkeys(answers, 1) for text, _, answers in answered})
    worse = [f"{text}: {found[:4]}" for text, found, answers in answered if not {*found[:1]} & {*answers}]
    return Measured(figures["ndcg@10"], figures["recall@10"], worse)


def reach(floor: Floor, answered: Answered) -> None:
    """Check that these questions are answered as well as a floor asks."""
    found = measured(answered)
    assert (found.ndcg >= floor.ndcg, found.recall >= floor.recall) == (True, True), found
