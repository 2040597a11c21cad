"""Choose: the order of all files that were evaluated, and those that are returned."""

from collections.abc import Iterable, Sequence

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.bands import RETURNED, band
from querymill_workers.retrievers.files.rules.structure import NAMED
from querymill_workers.retrievers.files.search.rounds import EvaluatedFile, Round, evaluated_files


@value
class ChosenFiles:
    """Every evaluated file, the best first, and how the search ended.

    ``kept`` has those that would be returned but for ``top_n``, and ``low`` those that are listed apart.
    """

    ranking: Sequence[EvaluatedFile]
    kept: Sequence[EvaluatedFile]
    low: Sequence[EvaluatedFile]
    ended_by: str


def choose_files(rounds: Sequence[Round], request: FileSearch) -> ChosenFiles:
    """Rank the evaluated files, and choose those of the bands that are returned; all of them if only ranked."""
    is_ranked = request.mode == "oneshot"
    ranking = rank_files(evaluated_files(rounds).values(), by_fusion=is_ranked)
    kept = [file for file in ranking if band(file.relevance) in RETURNED or is_ranked]
    low = [file for file in ranking if band(file.relevance) == "low" and request.return_low and not is_ranked]
    return ChosenFiles(ranking, kept, low, ended_by(rounds, is_one_shot=is_ranked))


def rank_files(files: Iterable[EvaluatedFile], *, by_fusion: bool) -> list[EvaluatedFile]:
    """Sort files by relevance, those named by path first, or ``by_fusion`` by their fused rank; ties by path."""
    if by_fusion:
        return sorted(files, key=lambda file: (-file.candidate.score, file.path))
    return sorted(files, key=lambda file: (file.notes.reason != NAMED, -file.relevance, file.path))


def ended_by(rounds: Sequence[Round], *, is_one_shot: bool) -> str:
    """Say why the search ended."""
    last = rounds[-1]
    if (stop := last.planned.stop) is not None:
        return stop
    is_whole = all(step.is_closed for step in (*last.searches, *last.evaluations))
    if is_one_shot and is_whole:
        return "one shot"
    return "a step failed" if is_whole and (last.plan is None or last.plan.is_closed) else "deadline"
