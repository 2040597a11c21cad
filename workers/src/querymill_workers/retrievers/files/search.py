"""`files`: a request in, the files that a caller needs who does not know yet which.

    request ─> search (words, vectors, patterns of the request) ┐ side by side
               the last one in: candidates, none twice ─> evaluate (shards of them, side by side)
               the last one in: plan: enough, or what next? ─> search for names of the high files, gaps first ─> …
               enough, or nothing new to ask, or no round or tokens left ─> result

Every evaluation is by the request as it was made; rules in ``domain/file_*.py``, the one decision in
``domain/file_rounds.py``. Steps after the first are added to the job as it goes; ``file_stages.py`` says which.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.events import PartialHit, SearchRound
from querymill_shared.contracts.files.search import PATTERNS, VECTORS, WORDS, FileSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unreadable
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.files.evaluation import evaluation
from querymill_workers.retrievers.files.ports import SPACE
from querymill_workers.retrievers.files.results import settle, tokens_so_far
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted, of_band
from querymill_workers.retrievers.files.rules.candidates import MOST
from querymill_workers.retrievers.files.rules.code import code_text
from querymill_workers.retrievers.files.rules.gaps import gaps
from querymill_workers.retrievers.files.rules.patterns import is_pattern, weighted
from querymill_workers.retrievers.files.rules.rounds import Ask, Standing, Stop, what_next
from querymill_workers.retrievers.files.stages import (
    PATTERNS_A_STEP,
    EvaluatedFile,
    Round,
    evaluated,
    follows,
    place_of,
    rounds_of,
)

#: How long one regular expression of the request may run, in seconds.
PATTERN_S: Final = 2.0
#: Places looked up for each name and role.
PLACES: Final = 20

Notes = dict[str, Any]


def step(claim: Claim, request: FileSearch, ports: Ports) -> Sequence[Bell]:
    """Carry out one step of a round, and hand it in."""
    laps = Laps(ports)
    match claim.step.split("-")[0]:
        case "search":
            try:
                notes = searched(claim, request, ports)
            except Unreadable as error:  # the request breaks a rule that only the engine knows
                ports.board.settle(claim.job_id, Verdict("failed", reason=f"patterns: {error}"))
                return []
        case "evaluate":
            notes = evaluation(claim, request, ports)
        case _:
            notes = planned(claim, request, ports)
    laps.lap(claim.step.split("-")[0])
    picture = ports.board.finish(claim, Outcome(notes=notes | {"timing": laps.ms}, ms=laps.total_ms))
    return [] if picture is None else conclude(picture, request, ports)


def conclude(picture: Picture, request: FileSearch, ports: Ports) -> Sequence[Bell]:
    """Add the steps that follow once all are closed, or settle where none does."""
    if picture.record.open_steps > 0:
        return []
    job_id, rounds = picture.record.job_id, rounds_of(picture)
    if rounds[-1].plan is not None:
        ports.board.tell(job_id, standing(rounds, request))
    names = follows(rounds, request)
    if not names:
        settle(picture, request, ports)
        return []
    return [Bell(job_id, name, request.queue_of(name)) for name in ports.board.add_steps(job_id, names)]


def searched(claim: Claim, request: FileSearch, ports: Ports) -> Notes:
    """Search for one part of a round's queries; notes the paths that each of them found."""
    match claim.step:
        case _ if claim.step == WORDS:
            text = code_text(request.query)
            hits = ports.words.search(request.collection, SPACE, text, limit=MOST)
            return {"found": {"words": [hit.id for hit in hits]}}
        case _ if claim.step == VECTORS:
            return by_vectors(claim, request, ports)
        case _ if claim.step == PATTERNS:
            return by_patterns(request, ports)
        case _:
            return by_names(claim, request, ports)


def by_vectors(claim: Claim, request: FileSearch, ports: Ports) -> Notes:
    """Search the chunks nearest to the request; says so where some of the collection has no vector yet."""
    caller = Caller(request.collection, request.lane, claim.expires_at)
    vectors, usage = ports.embeddings.embed([request.query], input_type="query", caller=caller)
    model = ports.embeddings.model
    found = ports.files.nearest(request.collection, vectors[0], model=model, most=MOST)
    pending = ports.files.counts(request.collection, model=model).pending
    missing = [f"{pending} chunks of files have no vector yet"] if pending else []
    return {"found": {"vectors": [hit.path for hit in found]}, **used(usage), **degraded(VECTORS, missing)}


def by_patterns(request: FileSearch, ports: Ports) -> Notes:
    """Search the regular expressions and path patterns of the request; one that must not run is named."""
    found: dict[str, list[str]] = {}
    missing: list[str] = []
    for pattern in request.patterns:
        try:
            hits = ports.files.matching(request.collection, pattern, most=MOST, time_s=PATTERN_S)
        except Unreadable:
            raise
        except Refused as error:
            missing.append(str(error))
            continue
        found[f"pattern {pattern}"] = [hit.path for hit in hits.hits]
        missing += [] if hits.complete else [f"pattern {pattern!r}: its {PATTERN_S:g} s ran out"]
    for glob in request.globs:
        try:
            found[f"glob {glob}"] = list(ports.files.glob(request.collection, glob, most=MOST))
        except Refused as error:
            missing.append(str(error))
    return {"found": found, **degraded(PATTERNS, missing)}


def by_names(claim: Claim, request: FileSearch, ports: Ports) -> Notes:
    """Look names of earlier rounds' files up, as names and nothing else: where defined first, then where used."""
    number, part = place_of(claim.step)
    asked = _round(ports.board.picture(claim.job_id), number - 1).patterns
    names = asked[(part - 1) * PATTERNS_A_STEP : part * PATTERNS_A_STEP]
    found: dict[str, list[str]] = {f"name {name}": [] for name in names}
    for roles in (("definition",), ("import", "type", "call")):
        for place in ports.files.named(request.collection, names, roles=roles, most=PLACES):
            paths = found[f"name {place.symbol.name}"]
            paths += [] if place.path in paths else [place.path]
    return {"found": found}


def planned(claim: Claim, request: FileSearch, ports: Ports) -> Notes:
    """Decide after a round: enough, or what to ask next."""
    rounds = rounds_of(ports.board.picture(claim.job_id))
    files = evaluated(rounds, request)
    relevances = {path: file.relevance for path, file in files.items()}
    high, medium = of_band(relevances, "high"), of_band(relevances, "medium")
    symbols = ports.files.symbols(request.collection, [*high, *medium])
    names = {path: {one.name for one in found if is_pattern(one.name)} for path, found in symbols.items()}
    uses = {
        path: {one.name for one in symbols.get(path, ()) if one.role != "definition" and is_pattern(one.name)}
        for path in high
    }
    every = sorted(set().union(*names.values()))
    frequency = ports.files.frequencies(request.collection, every)
    total = ports.files.counts(request.collection, model=ports.embeddings.model).files
    missing = gaps(uses, retrieved=files, definers=definers(uses, request, ports), files=total)
    decision = what_next(
        Standing(
            round=rounds[-1].number,
            rounds=request.most_rounds,
            high=len(high),
            gaps=missing,
            of_high=weighted({path: names.get(path, ()) for path in high}, frequency=frequency, files=total),
            of_medium=weighted({path: names.get(path, ()) for path in medium}, frequency=frequency, files=total),
            used=[pattern for one in rounds for pattern in one.patterns],
            tokens=tokens_so_far(files, rounds, request),
            token_budget=request.token_budget,
        )
    )
    left = sorted(missing, key=lambda name: (-missing[name], name))
    match decision:
        case Ask(patterns):
            return {"patterns": list(patterns), "gaps": left[:PLACES], "stop": None}
        case Stop(reason):
            return {"patterns": [], "gaps": left[:PLACES], "stop": reason}


def definers(uses: Mapping[str, set[str]], request: FileSearch, ports: Ports) -> dict[str, set[str]]:
    """Look up which files define the names that are used."""
    names = sorted(set().union(*uses.values()))
    found: dict[str, set[str]] = {}
    for place in ports.files.named(request.collection, names, roles=("definition",), most=PLACES):
        found.setdefault(place.symbol.name, set()).add(place.path)
    return found


def standing(rounds: Sequence[Round], request: FileSearch) -> SearchRound:
    """Tell of a round that was planned: what it asked, and how its files fell into the bands."""
    last = rounds[-1]
    files = [file for file in evaluated(rounds, request).values() if file.round == last.number]
    best = sorted(files, key=lambda file: (-file.relevance, file.path))
    return SearchRound(
        round=last.number,
        queries=last.queries,
        evaluated=len(files),
        bands=counted(file.relevance for file in files),
        files=tuple(_partial(file) for file in best if band(file.relevance) in RETURNED),
        gaps=tuple(last.plan.notes.get("gaps", ()) if last.plan is not None else ()),
        stop=last.stop,
    )


def used(usage: Usage) -> Notes:
    """Note what was asked of the providers."""
    return {"usage": {"provider_calls": usage.calls, "tokens": usage.tokens}}


def degraded(stage: str, reasons: Sequence[str]) -> Notes:
    """Note what a step was asked for and does not have."""
    return {"degraded": [Degradation(stage=stage, reason=reason).model_dump() for reason in reasons]}


def _round(picture: Picture, number: int) -> Round:
    (found,) = (one for one in rounds_of(picture) if one.number == number)
    return found


def _partial(file: EvaluatedFile) -> PartialHit:
    return PartialHit(key=file.path, score=round(file.relevance, 4))
