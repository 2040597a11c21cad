"""Recall: the files that each search of a round finds, best first."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.files.steps import FileStep
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import MalformedInput, Refused, Unavailable
from querymill_workers.retrievers.files.embed import EMBEDDABLE, compares_vectors, has_vectors, known_weight
from querymill_workers.retrievers.files.notes import FileSearchNotes
from querymill_workers.retrievers.files.ports import SPACE, FilePorts
from querymill_workers.retrievers.files.rules.candidates import MAX_CANDIDATES
from querymill_workers.retrievers.files.rules.intent import intent_of
from querymill_workers.retrievers.files.rules.kinds import kind_of, share_of, stated_kind
from querymill_workers.retrievers.files.rules.named import MAX_DEFINERS, meant
from querymill_workers.retrievers.files.rules.relevance import fields_score, words_of_path
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis, meaning_of
from querymill_workers.retrievers.files.search.rounds import NAMED_FILES, NAMED_SYMBOLS, Round, planned_names
from querymill_workers.retrievers.files.search.scope import FileScope
from querymill_workers.vectors.question import embed_question
from querymill_workers.words.narrowing import search_among

#: The ranking, by their words, of files that wait for a vector; and the stage that is missing then.
WAITING: Final = "words, without a vector yet"
EMBED: Final = "embed"
#: Files found by their words, of which the best by path and words become candidates.
POOL: Final = 100
#: Time limit for one regular expression of the request, in seconds.
PATTERN_S: Final = 2.0
#: Places looked up for each name and role.
PLACES: Final = 20
#: Files of one name that are looked at when a request names a path.
SAME_NAME: Final = 200


def recall(
    place: FileStep,
    query: QueryAnalysis,
    scope: FileScope,
    rounds: Sequence[Round],
    claim: Claim,
    request: FileSearch,
    ports: FilePorts,
) -> FileSearchNotes:
    """Run one search of a round: in the first by words, vectors or patterns, later by names that a plan chose."""
    match place.part:
        case int(part):
            return search_names(planned_names(rounds, part), scope, ports)
        case "patterns":
            return search_patterns(request.patterns, request.globs, scope, claim.step, ports)
        case "vectors":
            return search_vectors(query, scope, claim, request, ports)
        case _:
            words = search_words(query, scope, ports)
            if "vectors" in request.searched_channels or not compares_vectors(request, ports):
                return words
            return join(words, search_vectors(query, scope, claim, request, ports))


def search_words(query: QueryAnalysis, scope: FileScope, ports: FilePorts) -> FileSearchNotes:
    """Find the files with the words of the request, and those that it names."""
    named = find_named(query, scope, ports)
    return FileSearchNotes(found={"words": rank_by_words(query, scope, ports), **named})


def find_named(query: QueryAnalysis, scope: FileScope, ports: FilePorts) -> dict[str, tuple[str, ...]]:
    """Find the files that the request names by path, and those that define a name of it, unless many do."""
    by_path: list[str] = []
    for named in query.paths:
        last = named.path.rpartition("/")[2]
        same = ports.files.glob(scope.collection, f"**/{last}", limit=SAME_NAME, paths=scope.paths)
        by_path += meant(named.path, same)
    places = ports.files.named(
        scope.collection, list(query.quoted), roles=("definition",), limit=MAX_DEFINERS + 1, paths=scope.paths
    )
    definers: dict[str, list[str]] = {name: [] for name in query.quoted}
    for place in places:
        definers[place.symbol.name].append(place.path)
    few = [paths for name, paths in definers.items() if len(set(paths)) <= query.quoted[name]]
    by_name = dict.fromkeys(path for paths in few for path in paths)
    found = {NAMED_FILES: tuple(dict.fromkeys(by_path)), NAMED_SYMBOLS: tuple(by_name)}
    return {ranking: paths for ranking, paths in found.items() if paths}


def rank_by_words(query: QueryAnalysis, scope: FileScope, ports: FilePorts) -> tuple[str, ...]:
    """Search paths and contents for the words of the request; words in the path weigh more."""
    hits = search_among(ports.words, scope.collection, SPACE, query.recalled, limit=POOL, among=scope.paths)
    scored = {hit.id: hit.scored for hit in hits if hit.scored is not None}
    intent = intent_of(query.text, list(scored.values()), query.synonyms)
    infos = ports.files.describe(scope.collection, list(scored))
    kinds = {path: kind_of(path, stated=stated_kind(infos[path].metadata)) for path in scored if path in infos}
    scores = {
        path: fields_score(intent, scored[path], path=words_of_path(path), names=()) * share_of(kind, asked=query.kinds)
        for path, kind in kinds.items()
    }
    return tuple(sorted(scores, key=lambda path: (-scores[path], path))[:MAX_CANDIDATES])


def search_vectors(
    query: QueryAnalysis, scope: FileScope, claim: Claim, request: FileSearch, ports: FilePorts
) -> FileSearchNotes:
    """Find the files with the chunks nearest to the request; name it in the notes if some chunks have no vector yet.

    Files that wait for a vector are found by their words alone. They are a ranking of their own, so that files with
    vectors, which have two, do not push them out. If words are searched too, they do not wait for a slow model: the
    notes then say that the vectors are missing. A collection without vectors costs no call of the model.
    """
    asks_vectors, words_answer = "vectors" in request.channels, "words" in request.searched_channels
    if not has_vectors(scope.collection, ports):
        is_told = asks_vectors or not rank_by_words(query, scope, ports)
        return FileSearchNotes(degraded=name_missing(EMBED, [say_no_vectors(scope)] if is_told else [], None))
    try:
        question = embed_question(
            EMBEDDABLE,
            claim,
            request,
            [meaning_of(request)],
            ports,
            margin_s=0,
            patience_s=EMBEDDING_PATIENCE_S if words_answer else None,
        )
    except (Unavailable, Refused) as error:
        if not words_answer or error.code == "store_down":
            raise
        return FileSearchNotes(degraded=name_missing(claim.step, [str(error)], error.code))
    by_words = rank_by_words(query, scope, ports)
    near = ports.files.nearest(
        scope.collection,
        question.vectors[0],
        model=question.model,
        limit=MAX_CANDIDATES,
        paths=scope.paths,
        beside=by_words,
    )
    found = {"vectors": tuple(hit.path for hit in near.found)}
    if waiting := tuple(path for path in by_words if path in near.waiting):
        found[WAITING] = waiting
    pending = [f"{near.pending} chunks of files have no vector yet"] if near.pending else []
    return FileSearchNotes(
        found=found,
        usage=question.usage.noted(),
        weight=known_weight(request, question.model, ports),
        degraded=name_missing(EMBED, pending, "pending") + name_missing(claim.step, question.cuts, "cut"),
    )


def join(words: FileSearchNotes, vectors: FileSearchNotes) -> FileSearchNotes:
    """Return the notes of a step that searched by words, and by vectors because they are worth it."""
    return vectors.model_copy(
        update={"found": {**words.found, **vectors.found}, "degraded": words.degraded + vectors.degraded}
    )


def say_no_vectors(scope: FileScope) -> str:
    """Say what makes the vectors that a collection does not have."""
    made_by = f"`querymill reembed files --collection {scope.collection}`"
    return f"the collection has no vectors, and is searched by words alone; {made_by} makes them"


def search_patterns(
    patterns: Sequence[str], globs: Sequence[str], scope: FileScope, stage: str, ports: FilePorts
) -> FileSearchNotes:
    """Run the regular expressions and path patterns of a request; the notes name those that were refused or cut."""
    found: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    for pattern in patterns:
        try:
            hits = ports.files.matching(
                scope.collection, pattern, limit=MAX_CANDIDATES, time_s=PATTERN_S, paths=scope.paths
            )
        except MalformedInput:
            raise
        except Refused as error:
            missing.append(str(error))
            continue
        found[f"pattern {pattern}"] = tuple(hit.path for hit in hits.hits)
        missing += [] if hits.complete else [f"pattern {pattern!r}: stopped after {PATTERN_S:g} s"]
    for glob in globs:
        try:
            paths = ports.files.glob(scope.collection, glob, limit=MAX_CANDIDATES, paths=scope.paths)
        except Refused as error:
            missing.append(str(error))
            continue
        found[f"glob {glob}"] = tuple(paths)
    return FileSearchNotes(found=found, degraded=name_missing(stage, missing, "cut"))


def search_names(names: Sequence[str], scope: FileScope, ports: FilePorts) -> FileSearchNotes:
    """Look up the names that a plan chose: first where they are defined, then where they are used."""
    found: dict[str, list[str]] = {f"name {name}": [] for name in names}
    for roles in (("definition",), ("import", "type", "call")):
        for place in ports.files.named(scope.collection, names, roles=roles, limit=PLACES, paths=scope.paths):
            paths = found[f"name {place.symbol.name}"]
            paths += [] if place.path in paths else [place.path]
    return FileSearchNotes(found={query: tuple(paths) for query, paths in found.items()})


def name_missing(stage: str, reasons: Sequence[str], code: Code | None) -> tuple[Degradation, ...]:
    """Name each thing that a step was asked for and could not do."""
    return tuple(Degradation(stage=stage, reason=reason, code=code) for reason in reasons)
