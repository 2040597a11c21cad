"""The rounds of a search, read from the job's steps: what each round found, and which steps come next.

    search-1-words, … ─> evaluate-1-01, … ─> plan-1 ─> search-2-01, … ─> evaluate-2-01, … ─> plan-2 ─> …

Everything here follows from the picture of the job alone, so every worker that looks at a job adds the same steps.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from querymill_shared.board import Picture, Step
from querymill_shared.contracts.files.steps import FileStage, FileStep, FirstSearch
from querymill_shared.values import value
from querymill_workers.retrievers.files.notes import EvaluationNotes, FileNotes, FileSearchNotes, PlanNotes
from querymill_workers.retrievers.files.rules.candidates import FileCandidate, candidates, shards
from querymill_workers.retrievers.files.rules.named import ends_with
from querymill_workers.retrievers.files.rules.structure import Expected
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis

#: The rankings of what the request names: files by path, and the definers of its identifiers.
NAMED_FILES: Final = "path in the request"
NAMED_SYMBOLS: Final = "name in the request"
#: Their weight when candidates are chosen: what is named is evaluated for certain.
NAMED_WEIGHT: Final = 3.0
#: Names that one search step of a later round looks up.
NAMES_PER_STEP: Final = 4
#: Weights of the first round's searches when candidates are chosen; searches of later rounds weigh 1.
WEIGHTS: Final[Mapping[FirstSearch | int | None, float]] = {"words": 1.0, "vectors": 1.0, "patterns": 0.5}


@value
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


@value
class Round:
    """A round: its steps, what its searches found, and which files it evaluated.

    ``ranking`` has every file that the searches found and no round before evaluated, best first, and ``candidates``
    the first of them. ``plan`` is None until the round has been evaluated.
    """

    number: int
    searches: Sequence[Step]
    evaluations: Sequence[Step]
    plan: Step | None
    ranking: Sequence[FileCandidate]
    candidates: Sequence[FileCandidate]
    files: Sequence[EvaluatedFile]

    @property
    def planned(self) -> PlanNotes:
        """What the plan decided; empty until the plan is made."""
        return PlanNotes() if self.plan is None else PlanNotes.of(self.plan)

    @property
    def found(self) -> Mapping[str, Sequence[str]]:
        """The paths that each query of the searches found, best first."""
        return {query: paths for step in self.searches for query, paths in FileSearchNotes.of(step).found.items()}

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that the searches of this round ran."""
        return tuple(query for step in self.searches for query in FileSearchNotes.of(step).found)

    @property
    def judged_tokens(self) -> int:
        """The tokens that a language model read and wrote while evaluating."""
        return sum(EvaluationNotes.of(step).judged_tokens for step in self.evaluations)


def rounds_of(picture: Picture, *, limit: int) -> list[Round]:
    """Sort the steps of a job into rounds, of which each evaluates at most ``limit`` files."""
    by_round: dict[int, dict[FileStage, list[Step]]] = {}
    for step in picture.steps:
        place = FileStep.parse(step.name)
        if place is not None:
            by_round.setdefault(place.round, {}).setdefault(place.stage, []).append(step)
    rounds: list[Round] = []
    for number, stages in sorted(by_round.items()):
        searches = sorted(stages.get("search", []), key=lambda step: step.name)
        evaluations = sorted(stages.get("evaluate", []), key=lambda step: step.name)
        ranking = _rank(searches, evaluated=evaluated_files(rounds))
        chosen = ranking[:limit]
        files = _evaluated(number, evaluations, chosen)
        plan = next(iter(stages.get("plan", [])), None)
        rounds.append(Round(number, searches, evaluations, plan, ranking, chosen, files))
    return rounds


def rounds_until(place: FileStep, picture: Picture, *, limit: int) -> list[Round]:
    """Return the rounds of a job up to that of a step, which is the last of them."""
    return [round_ for round_ in rounds_of(picture, limit=limit) if round_.number <= place.round]


def paths_of_shard(rounds: Sequence[Round], part: int) -> list[str]:
    """Return the paths of one shard of the last round's candidates."""
    return [candidate.path for candidate in shards(rounds[-1].candidates)[part - 1]]


def planned_names(rounds: Sequence[Round], part: int) -> Sequence[str]:
    """Return the names that one search of the last round looks up: its part of those that the plan before chose."""
    return rounds[-2].planned.patterns[(part - 1) * NAMES_PER_STEP : part * NAMES_PER_STEP]


def evaluated_files(rounds: Sequence[Round]) -> dict[str, EvaluatedFile]:
    """Return the evaluated files by path."""
    return {file.path: file for round_ in rounds for file in round_.files}


def expect(query: QueryAnalysis, rounds: Sequence[Round]) -> Expected:
    """Say what the last round expects of files: what the request names, and what closes the gaps of the plan before."""
    named = rounds[0].found.get(NAMED_FILES, ())
    *before, _ = rounds
    planned = before[-1].planned if before else None
    searched = set(planned.gaps).intersection(planned.patterns) if planned else set()
    files = sorted(evaluated_files(before).values(), key=lambda file: (-file.relevance, file.path))
    users = {name: next((file.path for file in files if name in file.notes.uses), "") for name in searched}
    return Expected(
        kinds=query.kinds,
        names=query.names,
        quoted=frozenset(query.quoted),
        paths=frozenset(named),
        definers=frozenset(rounds[0].found.get(NAMED_SYMBOLS, ())),
        lines={path: [at.line for at in query.paths if at.line and ends_with(path, at.path)] for path in named},
        gaps={name: path for name, path in users.items() if path},
    )


#: What weighs the same whatever vectors weigh that were searched in the same step.
_OF_WORDS: Final[Mapping[str, float]] = {
    "words": WEIGHTS["words"],
    NAMED_FILES: NAMED_WEIGHT,
    NAMED_SYMBOLS: NAMED_WEIGHT,
}


def _rank(searches: Sequence[Step], *, evaluated: Collection[str]) -> list[FileCandidate]:
    rankings: dict[str, Sequence[str]] = {}
    weights: dict[str, float] = {}
    for step in searches:
        place, notes = FileStep.parse(step.name), FileSearchNotes.of(step)
        usual = WEIGHTS.get(None if place is None else place.part, 1.0)
        of_vectors = usual if notes.weight is None else notes.weight.weight
        for query, paths in notes.found.items():
            rankings[query] = paths
            weights[query] = _OF_WORDS.get(query, of_vectors)
    return candidates(rankings, evaluated=evaluated, weights=weights)


def _evaluated(number: int, evaluations: Sequence[Step], chosen: Sequence[FileCandidate]) -> list[EvaluatedFile]:
    """List the candidates that were evaluated; the first evaluation of a file is its only one."""
    by_path = {candidate.path: candidate for candidate in chosen}
    files: dict[str, EvaluatedFile] = {}
    for step in evaluations:
        for path, notes in EvaluationNotes.of(step).files.items():
            if path in by_path:
                files.setdefault(path, EvaluatedFile(path, number, by_path[path], notes))
    return list(files.values())


def next_steps(rounds: Sequence[Round], *, plans: bool) -> list[FileStep]:
    """Return the steps that come next once all steps so far are closed; none when the search is over.

    If the search ``plans``, each evaluated round is followed by a plan.
    """
    last = rounds[-1]
    number, plan = last.number, FileStep("plan", last.number)
    if last.plan is not None:
        names, stop = last.planned.patterns, last.planned.stop
        parts = range(1, 1 + len(range(0, len(names), NAMES_PER_STEP)))
        return [] if stop is not None else [FileStep("search", number + 1, part) for part in parts]
    if all(step.state == "failed" for step in last.searches):
        return []
    if last.evaluations:
        return [plan] if plans else []
    parts = range(1, 1 + len(shards(last.candidates)))
    return [FileStep("evaluate", number, part) for part in parts] or [plan]
