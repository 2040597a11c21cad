"""The rounds of a search, read from the job's steps: what each round found, and which steps come next.

    search-1-words, … ─> evaluate-1-01, … ─> plan-1 ─> search-2-01, … ─> evaluate-2-01, … ─> plan-2 ─> …

Everything here follows from the picture of the job alone, so every worker that looks at a job adds the same steps.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Picture, Step
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStage, FileStep, FirstSearch
from querymill_shared.values import frozen
from querymill_workers.retrievers.files.notes import EvaluationNotes, FileNotes, PlanNotes, SearchNotes
from querymill_workers.retrievers.files.rules.candidates import FileCandidate, candidates, shards

#: The rankings of what the request names: files by path, and the definers of its identifiers.
NAMED_FILES: Final = "path in the request"
NAMED_SYMBOLS: Final = "name in the request"
#: Their weight when candidates are chosen: what is named is evaluated for certain.
NAMED_WEIGHT: Final = 3.0
#: Names that one search step of a later round looks up.
NAMES_PER_STEP: Final = 4
#: Weights of the first round's searches when candidates are chosen; searches of later rounds weigh 1.
WEIGHTS: Final[Mapping[FirstSearch | int | None, float]] = {"words": 1.0, "vectors": 1.0, "patterns": 0.5}


@frozen
class EvaluatedFile:
    """A file that was evaluated in a round, what found it, and what the evaluation noted."""

    path: str
    round: int
    candidate: FileCandidate
    notes: FileNotes

    @property
    def relevance(self) -> float:
        """How relevant the file is to the request, from 0 to 1."""
        return self.notes.relevance


@frozen
class Round:
    """The steps of a round; ``plan`` is None until the round has been evaluated."""

    number: int
    searches: Sequence[Step]
    evaluations: Sequence[Step]
    plan: Step | None

    @property
    def planned(self) -> PlanNotes:
        """What the plan decided; empty until the plan is made."""
        return PlanNotes() if self.plan is None else PlanNotes.of(self.plan)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that the searches of this round ran."""
        return tuple(query for step in self.searches for query in SearchNotes.of(step).found)


def rounds_of(picture: Picture) -> list[Round]:
    """Sort the steps of a job into rounds."""
    by_round: dict[int, dict[FileStage, list[Step]]] = {}
    for step in picture.steps:
        place = FileStep.parse(step.name)
        if place is not None:
            by_round.setdefault(place.round, {}).setdefault(place.stage, []).append(step)
    return [
        Round(
            number,
            sorted(stages.get("search", []), key=lambda step: step.name),
            sorted(stages.get("evaluate", []), key=lambda step: step.name),
            next(iter(stages.get("plan", [])), None),
        )
        for number, stages in sorted(by_round.items())
    ]


def evaluated_files(rounds: Sequence[Round], request: FileSearch) -> dict[str, EvaluatedFile]:
    """Return the evaluated files by path; the first evaluation of a file is its only one."""
    files: dict[str, EvaluatedFile] = {}
    for round_ in rounds:
        chosen = {candidate.path: candidate for candidate in _candidates(round_, request, known=files)}
        for step in round_.evaluations:
            for path, notes in EvaluationNotes.of(step).files.items():
                if path in chosen:
                    files.setdefault(path, EvaluatedFile(path, round_.number, chosen[path], notes))
    return files


def candidates_of(rounds: Sequence[Round], number: int, request: FileSearch) -> list[FileCandidate]:
    """Choose the candidates of a round: the files its searches found, without those of earlier rounds."""
    known = evaluated_files([round_ for round_ in rounds if round_.number < number], request)
    return _candidates(numbered(rounds, number), request, known=known)


def numbered(rounds: Sequence[Round], number: int) -> Round:
    """Return the round with a number."""
    (found,) = (round_ for round_ in rounds if round_.number == number)
    return found


def _candidates(asked: Round, request: FileSearch, *, known: Mapping[str, EvaluatedFile]) -> list[FileCandidate]:
    rankings: dict[str, Sequence[str]] = {}
    weights: dict[str, float] = {}
    for step in asked.searches:
        place = FileStep.parse(step.name)
        for query, paths in SearchNotes.of(step).found.items():
            rankings[query] = paths
            is_named = query in (NAMED_FILES, NAMED_SYMBOLS)
            weights[query] = NAMED_WEIGHT if is_named else WEIGHTS.get(None if place is None else place.part, 1.0)
    return candidates(rankings, evaluated=known, limit=request.candidates, weights=weights)


def next_steps(rounds: Sequence[Round], request: FileSearch) -> list[FileStep]:
    """Return the steps that come next once all steps so far are closed; none when the search is over."""
    last = rounds[-1]
    number, plan = last.number, FileStep("plan", last.number)
    if last.plan is not None:
        names, stop = last.planned.patterns, last.planned.stop
        parts = range(1, 1 + len(range(0, len(names), NAMES_PER_STEP)))
        return [] if stop is not None else [FileStep("search", number + 1, part) for part in parts]
    if all(step.state == "failed" for step in last.searches):
        return []
    if last.evaluations:
        return [] if request.mode == "oneshot" else [plan]
    parts = range(1, 1 + len(shards(candidates_of(rounds, number, request))))
    return [FileStep("evaluate", number, part) for part in parts] or [plan]
