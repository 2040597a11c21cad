"""`files`: find the files in a code base that are relevant to a request.

    request ─> search by words, vectors and patterns, side by side
               last search done     ─> choose candidates, each once ─> evaluate them in shards, side by side
               last evaluation done ─> plan: enough, or which names next? Gaps first ─> search by name ─> evaluate ─> …
               enough, no new name, no round left or no tokens left ─> result

Every evaluation measures relevance to the original request. The rules are in ``rules/``; the decision after a round
is in ``rules/rounds.py``. The job starts with the first searches; ``stages.py`` says which steps follow.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.events import PartialHit, SearchRound
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable, Unreadable
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.files.evaluation import evaluate
from querymill_workers.retrievers.files.notes import EvaluationNotes, PlanNotes, SearchNotes
from querymill_workers.retrievers.files.ports import SPACE, FilePorts, Files
from querymill_workers.retrievers.files.results import settle, tokens_so_far
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted, of_band
from querymill_workers.retrievers.files.rules.candidates import MAX_CANDIDATES
from querymill_workers.retrievers.files.rules.code import code_text
from querymill_workers.retrievers.files.rules.follow_up_names import is_searchable_name, weighted
from querymill_workers.retrievers.files.rules.gaps import gaps
from querymill_workers.retrievers.files.rules.rounds import Ask, Standing, Stop, what_next
from querymill_workers.retrievers.files.stages import (
    NAMES_PER_STEP,
    EvaluatedFile,
    Round,
    evaluated_files,
    next_steps,
    numbered,
    rounds_of,
)

#: Time limit for one regular expression of the request, in seconds.
PATTERN_S: Final = 2.0
#: Places looked up for each name and role, and gaps that a plan lists.
PLACES: Final = 20


def step(claim: Claim, request: FileSearch, ports: FilePorts) -> Sequence[Bell]:
    """Carry out one step of a round, close it and return the bells of the steps that follow."""
    place = FileStep.parse(claim.step)
    if place is None:
        raise Unavailable(f"this release does not know the step {claim.step!r}")
    laps = Laps(ports)
    try:
        notes = carry_out(place, claim, request, ports)
    except Unreadable as error:  # only RE2 can tell that the request holds an invalid pattern
        ports.board.settle(claim.job_id, Verdict("failed", reason=f"patterns: {error}"))
        return []
    laps.lap(place.stage)
    notes = notes.model_copy(update={"timing": laps.ms})
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms))
    return [] if picture is None else conclude(picture, request, ports)


def conclude(picture: Picture, request: FileSearch, ports: FilePorts) -> Sequence[Bell]:
    """Once all steps are closed, add the steps that follow; if none does, settle the job."""
    if picture.record.open_steps > 0:
        return []
    job_id, rounds = picture.record.job_id, rounds_of(picture)
    if rounds[-1].plan is not None:
        ports.board.tell(job_id, round_event(rounds, request))
    names = [str(place) for place in next_steps(rounds, request)]
    if not names:
        settle(picture, request, ports)
        return []
    return [Bell(job_id, name, request.queue_of(name)) for name in ports.board.add_steps(job_id, names)]


def carry_out(
    place: FileStep, claim: Claim, request: FileSearch, ports: FilePorts
) -> SearchNotes | EvaluationNotes | PlanNotes:
    """Search, evaluate or plan; return the notes that later steps and the result read."""
    match place:
        case FileStep("search", _, "words"):
            return search_words(request, ports)
        case FileStep("search", _, "vectors"):
            return search_vectors(claim, request, ports)
        case FileStep("search", _, "patterns"):
            return search_patterns(claim, request, ports)
        case FileStep("search", number, int(part)):
            return search_names(number, part, claim, request, ports)
        case FileStep("evaluate", number, int(part)):
            return evaluate(number, part, claim, request, ports)
        case _:
            return plan(claim, request, ports)


def search_words(request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Search paths and contents for the words of the request."""
    hits = ports.words.search(request.collection, SPACE, code_text(request.query), limit=MAX_CANDIDATES)
    return SearchNotes(found={"words": tuple(hit.id for hit in hits)})


def search_vectors(claim: Claim, request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Find the files with the chunks nearest to the request; name it in the notes if some chunks have no vector yet."""
    caller = Caller(request.collection, request.lane, claim.expires_at)
    vectors, usage = ports.embeddings.embed([request.query], input_type="query", caller=caller)
    model = ports.embeddings.model
    found = ports.files.nearest(request.collection, vectors[0], model=model, limit=MAX_CANDIDATES)
    pending = ports.files.counts(request.collection, model=model).pending
    missing = [f"{pending} chunks of files have no vector yet"] if pending else []
    return SearchNotes(
        found={"vectors": tuple(hit.path for hit in found)},
        usage=usage.noted(),
        degraded=name_missing(claim.step, missing),
    )


def search_patterns(claim: Claim, request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Run the regular expressions and path patterns of the request; the notes name those that were refused or cut."""
    found: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    for pattern in request.patterns:
        try:
            hits = ports.files.matching(request.collection, pattern, limit=MAX_CANDIDATES, time_s=PATTERN_S)
        except Unreadable:
            raise
        except Refused as error:
            missing.append(str(error))
            continue
        found[f"pattern {pattern}"] = tuple(hit.path for hit in hits.hits)
        missing += [] if hits.complete else [f"pattern {pattern!r}: stopped after {PATTERN_S:g} s"]
    for glob in request.globs:
        try:
            found[f"glob {glob}"] = tuple(ports.files.glob(request.collection, glob, limit=MAX_CANDIDATES))
        except Refused as error:
            missing.append(str(error))
    return SearchNotes(found=found, degraded=name_missing(claim.step, missing))


def search_names(number: int, part: int, claim: Claim, request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Look up the names that the last plan chose: first where they are defined, then where they are used."""
    asked = numbered(rounds_of(ports.board.picture(claim.job_id)), number - 1)
    names = asked.planned.patterns[(part - 1) * NAMES_PER_STEP : part * NAMES_PER_STEP]
    found: dict[str, list[str]] = {f"name {name}": [] for name in names}
    for roles in (("definition",), ("import", "type", "call")):
        for place in ports.files.named(request.collection, names, roles=roles, limit=PLACES):
            paths = found[f"name {place.symbol.name}"]
            paths += [] if place.path in paths else [place.path]
    return SearchNotes(found={query: tuple(paths) for query, paths in found.items()})


def plan(claim: Claim, request: FileSearch, ports: FilePorts) -> PlanNotes:
    """Decide after a round: stop, or search which names next."""
    rounds = rounds_of(ports.board.picture(claim.job_id))
    files = evaluated_files(rounds, request)
    relevances = {path: file.relevance for path, file in files.items()}
    high, medium = of_band(relevances, "high"), of_band(relevances, "medium")
    symbols = {
        path: [symbol for symbol in found if is_searchable_name(symbol.name)]
        for path, found in ports.files.symbols(request.collection, [*high, *medium]).items()
    }
    names = {path: {symbol.name for symbol in found} for path, found in symbols.items()}
    uses = {path: {symbol.name for symbol in symbols.get(path, ()) if symbol.role != "definition"} for path in high}
    frequency = ports.files.frequencies(request.collection, sorted(set().union(*names.values())))
    total = ports.files.counts(request.collection, model=ports.embeddings.model).files
    missing = gaps(uses, retrieved=files, definers=find_definers(uses, request.collection, ports.files), files=total)
    decision = what_next(
        Standing(
            round=rounds[-1].number,
            rounds=request.most_rounds,
            high=len(high),
            gaps=missing,
            of_high=weighted({path: names.get(path, ()) for path in high}, frequency=frequency, files=total),
            of_medium=weighted({path: names.get(path, ()) for path in medium}, frequency=frequency, files=total),
            used=[name for round_ in rounds for name in round_.planned.patterns],
            tokens=tokens_so_far(files, rounds, request),
            token_budget=request.token_budget,
        )
    )
    left = tuple(sorted(missing, key=lambda name: (-missing[name], name))[:PLACES])
    match decision:
        case Ask(names_to_search):
            return PlanNotes(patterns=tuple(names_to_search), gaps=left, stop=None)
        case Stop(reason):
            return PlanNotes(patterns=(), gaps=left, stop=reason)


def find_definers(uses: Mapping[str, set[str]], collection: str, files: Files) -> dict[str, set[str]]:
    """Return, for each name that is used and defined, the files that define it."""
    names = sorted(set().union(*uses.values()))
    found: dict[str, set[str]] = {}
    for place in files.named(collection, names, roles=("definition",), limit=PLACES):
        found.setdefault(place.symbol.name, set()).add(place.path)
    return found


def round_event(rounds: Sequence[Round], request: FileSearch) -> SearchRound:
    """Report the last round: what it searched for, and how relevant its files are."""
    last = rounds[-1]
    files = [file for file in evaluated_files(rounds, request).values() if file.round == last.number]
    best = sorted(files, key=lambda file: (-file.relevance, file.path))
    return SearchRound(
        round=last.number,
        queries=last.queries,
        evaluated=len(files),
        bands=counted(file.relevance for file in files),
        files=tuple(_partial(file) for file in best if band(file.relevance) in RETURNED),
        gaps=last.planned.gaps,
        stop=last.planned.stop,
    )


def name_missing(stage: str, reasons: Sequence[str]) -> tuple[Degradation, ...]:
    """Name each thing that a step was asked for and could not do."""
    return tuple(Degradation(stage=stage, reason=reason) for reason in reasons)


def _partial(file: EvaluatedFile) -> PartialHit:
    return PartialHit(key=file.path, score=round(file.relevance, 4))
