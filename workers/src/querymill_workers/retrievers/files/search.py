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
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.events import PartialHit, SearchRound
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Refused, Unavailable, Unreadable
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.files.asked import find_named
from querymill_workers.retrievers.files.embed import EMBEDDABLE, has_vectors
from querymill_workers.retrievers.files.evaluation import evaluate
from querymill_workers.retrievers.files.notes import EvaluationNotes, PlanNotes, SearchNotes
from querymill_workers.retrievers.files.passing import passing
from querymill_workers.retrievers.files.ports import SPACE, FilePorts, Files
from querymill_workers.retrievers.files.results import settle, tokens_so_far
from querymill_workers.retrievers.files.rules.bands import RETURNED, band, counted, of_band
from querymill_workers.retrievers.files.rules.candidates import MAX_CANDIDATES
from querymill_workers.retrievers.files.rules.follow_up_names import is_searchable_name, weighted
from querymill_workers.retrievers.files.rules.gaps import gaps
from querymill_workers.retrievers.files.rules.intent import intent_of, recall_text, search_text, synonyms_of
from querymill_workers.retrievers.files.rules.kinds import kind_of, kinds_asked, share_of, stated_kind
from querymill_workers.retrievers.files.rules.relevance import fields_score, words_of_path
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
from querymill_workers.vectors.question import embed_question
from querymill_workers.words.narrowing import search_among

#: The ranking, by their words, of files that wait for a vector; and the stage that is missing then.
WAITING: Final = "words, without a vector yet"
EMBED: Final = "embed"
#: Files found by their words, of which the best by path and words become candidates.
POOL: Final = 100
#: Time limit for one regular expression of the request, in seconds.
PATTERN_S: Final = 2.0
#: Places looked up for each name and role, and gaps that a plan lists.
PLACES: Final = 20


def step(claim: Claim, request: FileSearch, ports: FilePorts) -> Sequence[Bell]:
    """Carry out one step of a round, close it and return the bells of the steps that follow."""
    place = FileStep.parse(claim.step)
    if place is None:
        raise Unavailable(f"this release does not know the step {claim.step!r}", code="pending")
    laps = Laps(ports)
    try:
        notes = carry_out(place, claim, request, ports)
    except Unreadable as error:  # only RE2 can tell that the request holds an invalid pattern
        ending = Verdict("failed", reason=f"patterns: {error}", code=error.code, counts_as=error.counts_as)
        ports.board.settle(claim.job_id, ending)
        return []
    laps.lap(place.stage)
    notes = notes.model_copy(update={"timing": laps.ms})
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts))
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
    return one_per_queue(add_steps(picture, names, request, ports))


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
    """Search paths and contents for the words of the request; words in the path weigh more."""
    thesaurus, among = ports.thesauri["files"], passing(request, ports)
    text, recalled = search_text(request.query, thesaurus), recall_text(request.query, thesaurus)
    hits = search_among(ports.words, request.collection, SPACE, recalled, limit=POOL, among=among)
    scored = {hit.id: hit.scored for hit in hits if hit.scored is not None}
    intent = intent_of(text, list(scored.values()), synonyms_of(request.query, thesaurus))
    asked = kinds_asked(request.query) | frozenset(request.kinds)
    infos = ports.files.describe(request.collection, list(scored))
    kinds = {path: kind_of(path, stated=stated_kind(infos[path].metadata)) for path in scored if path in infos}
    scores = {
        path: fields_score(intent, scored[path], path=words_of_path(path), names=()) * share_of(kind, asked=asked)
        for path, kind in kinds.items()
    }
    ranking = sorted(scores, key=lambda path: (-scores[path], path))
    return SearchNotes(found={"words": tuple(ranking[:MAX_CANDIDATES]), **find_named(request, ports, among)})


def search_vectors(claim: Claim, request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Find the files with the chunks nearest to the request; name it in the notes if some chunks have no vector yet.

    Files that wait for a vector are found by their words alone. They are a ranking of their own, so that files with
    vectors, which have two, do not push them out. If words are searched too, they do not wait for a slow model: the
    notes then say that the vectors are missing. A collection without vectors costs no call of the model.
    """
    if not has_vectors(request.collection, ports):
        return SearchNotes(degraded=name_missing(EMBED, why_no_vectors(request, ports), None))
    words_answer = "words" in request.searched_channels
    patience_s = EMBEDDING_PATIENCE_S if words_answer else None
    try:
        question = embed_question(
            EMBEDDABLE, claim, request, [request.query], ports, margin_s=0, patience_s=patience_s
        )  # fmt: skip
    except (Unavailable, Refused) as error:
        if not words_answer or error.code == "store_down":
            raise
        return SearchNotes(degraded=name_missing(claim.step, [str(error)], error.code))
    by_words = search_words(request, ports).found["words"]
    near = ports.files.nearest(
        request.collection,
        question.vectors[0],
        model=question.model,
        limit=MAX_CANDIDATES,
        paths=passing(request, ports),
        beside=by_words,
    )
    found = {"vectors": tuple(hit.path for hit in near.found)}
    if waiting := tuple(path for path in by_words if path in near.waiting):
        found[WAITING] = waiting
    pending = [f"{near.pending} chunks of files have no vector yet"] if near.pending else []
    return SearchNotes(
        found=found,
        usage=question.usage.noted(),
        degraded=name_missing(EMBED, pending, "pending") + name_missing(claim.step, question.cuts, "cut"),
    )


def why_no_vectors(request: FileSearch, ports: FilePorts) -> Sequence[str]:
    """Say what makes the vectors that a collection does not have, if they were asked for or words find nothing."""
    if "vectors" not in request.channels and search_words(request, ports).found["words"]:
        return []
    made_by = f"`querymill reembed files --collection {request.collection}`"
    return [f"the collection has no vectors, and is searched by words alone; {made_by} makes them"]


def search_patterns(claim: Claim, request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Run the regular expressions and path patterns of the request; the notes name those that were refused or cut."""
    found: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    among = passing(request, ports)
    for pattern in request.patterns:
        try:
            hits = ports.files.matching(
                request.collection, pattern, limit=MAX_CANDIDATES, time_s=PATTERN_S, paths=among
            )
        except Unreadable:
            raise
        except Refused as error:
            missing.append(str(error))
            continue
        found[f"pattern {pattern}"] = tuple(hit.path for hit in hits.hits)
        missing += [] if hits.complete else [f"pattern {pattern!r}: stopped after {PATTERN_S:g} s"]
    for glob in request.globs:
        try:
            found[f"glob {glob}"] = tuple(ports.files.glob(request.collection, glob, limit=MAX_CANDIDATES, paths=among))
        except Refused as error:
            missing.append(str(error))
    return SearchNotes(found=found, degraded=name_missing(claim.step, missing, "cut"))


def search_names(number: int, part: int, claim: Claim, request: FileSearch, ports: FilePorts) -> SearchNotes:
    """Look up the names that the last plan chose: first where they are defined, then where they are used."""
    asked = numbered(rounds_of(ports.board.picture(claim.job_id)), number - 1)
    names = asked.planned.patterns[(part - 1) * NAMES_PER_STEP : part * NAMES_PER_STEP]
    found: dict[str, list[str]] = {f"name {name}": [] for name in names}
    among = passing(request, ports)
    for roles in (("definition",), ("import", "type", "call")):
        for place in ports.files.named(request.collection, names, roles=roles, limit=PLACES, paths=among):
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
    uses = {path: set(files[path].notes.uses) for path in high}
    frequency = ports.files.frequencies(request.collection, sorted(set().union(*names.values())))
    total = ports.files.counts(request.collection).files
    definers = find_definers(uses, request.collection, ports.files)
    missing = gaps(uses, retrieved=files, definers=definers, frequency=frequency, files=total)
    decision = what_next(
        Standing(
            round=rounds[-1].number,
            rounds=request.most_rounds,
            high=len(high),
            added=sum(file.round == rounds[-1].number for file in files.values() if band(file.relevance) in RETURNED),
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


def name_missing(stage: str, reasons: Sequence[str], code: Code | None) -> tuple[Degradation, ...]:
    """Name each thing that a step was asked for and could not do."""
    return tuple(Degradation(stage=stage, reason=reason, code=code) for reason in reasons)


def _partial(file: EvaluatedFile) -> PartialHit:
    return PartialHit(key=file.path, score=round(file.relevance, 4))
