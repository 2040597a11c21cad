"""The stages of an iterative search, read off the board: what each round found, and which steps follow.

    search-1-words, … ─> evaluate-1-01, … ─> plan-1 ─> search-2-01, … ─> evaluate-2-01, … ─> plan-2 ─> …

All of it follows from the picture alone, so whoever looks at a job adds the same steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_shared.board import Picture, Step
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStage, FileStep, FirstSearch
from querymill_workers.retrievers.files.rules.candidates import Candidate, candidates, shards

#: Patterns that one search step of a later round looks for.
PATTERNS_A_STEP: Final = 4
#: What a search of the first round weighs when candidates are chosen; the words of the request lead.
WEIGHTS: Final[Mapping[FirstSearch | int | None, float]] = {"words": 1.0, "vectors": 1.0, "patterns": 0.5}


@dataclass(frozen=True, slots=True)
class EvaluatedFile:
    """What an evaluation noted of a file; ``notes`` are its evidence, tokens, excerpt and words."""

    path: str
    relevance: float
    round: int
    candidate: Candidate
    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Round:
    """The steps of one round; ``plan`` is None until the round is evaluated."""

    number: int
    searches: Sequence[Step]
    evaluations: Sequence[Step]
    plan: Step | None

    @property
    def patterns(self) -> Sequence[str]:
        """The patterns that the next round asks for."""
        found: Sequence[str] = self.plan.notes.get("patterns", []) if self.plan is not None else []
        return found

    @property
    def stop(self) -> str | None:
        """Why there is no further round; None while that is not decided, or there is one."""
        return None if self.plan is None else self.plan.notes.get("stop")

    @property
    def queries(self) -> tuple[str, ...]:
        """What the searches of this round asked for."""
        return tuple(query for step in self.searches for query in step.notes.get("found", {}))


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


def evaluated(rounds: Sequence[Round], request: FileSearch) -> dict[str, EvaluatedFile]:
    """Gather the files that were evaluated, each under its path; the first evaluation of a file is its only one."""
    files: dict[str, EvaluatedFile] = {}
    for one in rounds:
        chosen = {found.path: found for found in _candidates(one, request, known=files)}
        for step in one.evaluations:
            for path, notes in step.notes.get("files", {}).items():
                if path in chosen:
                    files.setdefault(path, EvaluatedFile(path, notes["relevance"], one.number, chosen[path], notes))
    return files


def candidates_of(rounds: Sequence[Round], number: int, request: FileSearch) -> list[Candidate]:
    """Choose the candidates of a round: what its searches found, less what earlier rounds evaluated."""
    known = evaluated([one for one in rounds if one.number < number], request)
    (asked,) = (one for one in rounds if one.number == number)
    return _candidates(asked, request, known=known)


def _candidates(asked: Round, request: FileSearch, *, known: Mapping[str, EvaluatedFile]) -> list[Candidate]:
    rankings: dict[str, list[str]] = {}
    weights: dict[str, float] = {}
    for step in asked.searches:
        place = FileStep.parse(step.name)
        for query, paths in step.notes.get("found", {}).items():
            rankings[query] = paths
            weights[query] = WEIGHTS.get(None if place is None else place.part, 1.0)
    return candidates(rankings, evaluated=known, most=request.candidates, weights=weights)


def follows(rounds: Sequence[Round], request: FileSearch) -> list[str]:
    """Name the steps that come next once every step so far is closed; none when the search is over."""
    return [str(step) for step in _following(rounds, request)]


def _following(rounds: Sequence[Round], request: FileSearch) -> list[FileStep]:
    last = rounds[-1]
    number = last.number
    if last.plan is not None:
        steps = len(range(0, len(last.patterns), PATTERNS_A_STEP))
        return [] if last.stop is not None else [FileStep("search", number + 1, part) for part in range(1, steps + 1)]
    if all(step.state == "failed" for step in last.searches):
        return []
    plan = FileStep("plan", number)
    if last.evaluations:
        return [] if request.mode == "oneshot" else [plan]
    parts = len(shards(candidates_of(rounds, number, request)))
    return [FileStep("evaluate", number, part) for part in range(1, parts + 1)] or [plan]
