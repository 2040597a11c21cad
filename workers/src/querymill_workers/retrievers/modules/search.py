"""Search code documents for a request: by the modules it asks for, by its text, and by vectors of descriptions.

    request ─> original ──────────────────┐ analyse -> recall -> score ┐
            └> split (chat model: parts) ─┤                            ├-> fuse by rank -> hits on the board
                                          └ words, vectors (channels.py)┘
               the last branch settles: documents, explanations, prompt

If the split succeeds, the result comes from its parts. If it fails, the result comes from the request itself.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture, Step, Verdict
from querymill_shared.contracts.events import Hits, PartialHit
from querymill_shared.contracts.modules.search import ORIGINAL, SPLIT, WEIGHT, AskedModule, ModuleSearch, RawRecall
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence
from querymill_shared.hits import BoardHit
from querymill_shared.values import value
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.faults import Failed, Refused, Unavailable
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.jobs.stages import Laps, why_nothing, worth_telling
from querymill_workers.jobs.usage import Usage
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.modules.channels import Asked, search_lists, texts_of
from querymill_workers.retrievers.modules.notes import Matches, SearchNotes
from querymill_workers.retrievers.modules.ports import ModulePorts, Vocabulary
from querymill_workers.retrievers.modules.results import to_result
from querymill_workers.retrievers.modules.rules.documents import DocumentId, encode_id
from querymill_workers.retrievers.modules.rules.join import (
    MODULES,
    VECTORS,
    FusedHit,
    channel_weights,
    chosen_channels,
    fuse_channels,
    rank_by_modules,
    with_vectors,
)
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, modules_of
from querymill_workers.retrievers.modules.rules.names import FoundModule, analyze_query, shorthands_of, unknown_modules
from querymill_workers.retrievers.modules.rules.scores import (
    SHOWN_PLACES,
    ModuleRecall,
    ScoredDocument,
    SubQuery,
    candidates,
    explain,
    keywords,
    rank,
    shares,
)
from querymill_workers.retrievers.modules.rules.text import weighted_parts
from querymill_workers.retrievers.modules.why_not import explain_absence

#: Time before the deadline that is reserved for searching after the chat call, in seconds.
SEARCH_MARGIN_S = 0.2
#: Documents whose names and rare modules are looked at in the text channel, whatever ``candidates`` are asked for.
TEXT_CANDIDATES: Final = 200


@value
class Findings:
    """What one branch found, and how. ``weights`` is empty if no channels were fused."""

    sub_queries: Sequence[SubQuery]
    recalled: Mapping[str, ModuleRecall]
    scored: Sequence[ScoredDocument]
    ranking: Sequence[FusedHit]
    weights: Mapping[str, float]
    degraded: Sequence[Degradation]
    unknown: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def step(claim: Claim, request: ModuleSearch, ports: ModulePorts) -> Sequence[Bell]:
    """Run one branch: find its parts, search both channels, finish the branch on the board."""
    laps = Laps(ports)
    try:
        parts, usage = find_parts(claim, request, ports)
    except Unavailable as error:
        log_failure(claim, error)
        laps.lap("expand")
        outcome = Outcome("failed", str(error), ms=laps.total_ms, code=error.code, parts=laps.parts)
        finish_branch(claim, outcome, request, ports)
        return []
    laps.lap("parts")
    vocabulary = ports.modules.vocabulary(request.collection)
    sub_queries = find_modules(parts, vocabulary, request, ports)
    found = search_channels(sub_queries, vocabulary, claim, request, ports, laps)
    hits = tuple(BoardHit(encode_id(hit.document), hit.score, 0) for hit in found.ranking)
    absence = None
    if request.why_not is not None:
        absence = why_not(request.why_not, found, vocabulary, claim, request, ports)
        laps.lap("why_not")
    notes = notes_of(found, vocabulary, usage + found.usage, request, laps)
    noted = notes.model_copy(update={"why_not": absence}).for_board()
    finish_branch(
        claim, Outcome(hits={claim.step: hits}, notes=noted, ms=laps.total_ms, parts=laps.parts), request, ports
    )
    return []


def why_not(
    wanted: str, found: Findings, vocabulary: Vocabulary, claim: Claim, request: ModuleSearch, ports: ModulePorts
) -> Absence:
    """Explain why a document is not among the hits of this branch."""
    silent = {missing.stage for missing in found.degraded if missing.code != "pending"}
    texts = texts_of(found.sub_queries, request).values()
    channels = tuple(name for name in chosen_channels(request.channels, [request.query, *texts]) if name not in silent)

    def again(changed: ModuleSearch) -> Sequence[FusedHit]:
        asking = changed.model_copy(update={"channels": channels})
        return search_channels(found.sub_queries, vocabulary, claim, asking, ports, Laps(ports)).ranking

    asked = [module.name for part in found.sub_queries for module in part.modules]
    return explain_absence(request, wanted, found.ranking, asked, again, ports)


def find_parts(claim: Claim, request: ModuleSearch, ports: ModulePorts) -> tuple[list[tuple[str, float]], Usage]:
    """Return the weighted parts to search, and what finding them used.

    The split branch asks a chat model for them. The other branch takes the request's sub-queries, or the request
    as its only part.

    Raises:
        Unavailable: The chat model did not reply in time.
        Failed: Its reply held no parts.
    """
    if claim.step != SPLIT:
        given = [(part.description, part.weight) for part in request.sub_queries]
        return given or [(request.query, WEIGHT)], Usage()
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model")
    reply, usage = ports.rewriter.rewrite("parts", request.query, terms={}, caller=caller)
    parts = weighted_parts(reply)
    if not parts:
        raise Failed("the chat model's reply held no parts")
    return parts, usage


def find_modules(
    parts: Sequence[tuple[str, float]], vocabulary: Vocabulary, request: ModuleSearch, ports: ModulePorts
) -> list[SubQuery]:
    """Return the parts as sub-queries, each with the modules that it asks for."""
    shorthands = shorthands_of(ports.shorthands, vocabulary.names)
    lexicon = vocabulary.lexicon if request.lexicon else EMPTY
    return [
        SubQuery(text, weight, share, modules_of(text, shorthands=shorthands, lexicon=lexicon))
        for (text, weight), share in zip(parts, shares([weight for _, weight in parts]), strict=True)
    ]


def search_channels(
    sub_queries: Sequence[SubQuery],
    vocabulary: Vocabulary,
    claim: Claim,
    request: ModuleSearch,
    ports: ModulePorts,
    laps: Laps,
) -> Findings:
    """Search the channels of the request and fuse their rankings."""
    unknown, texts = find_unknown(sub_queries, vocabulary, request), texts_of(sub_queries, request)
    channels = chosen_channels(request.channels, [request.query, *texts.values()])
    passing = frozenset(ports.modules.listed(request.collection, request.filter)) if request.filter else None
    recalled: Mapping[str, ModuleRecall] = {}
    scored: list[ScoredDocument] = []
    if MODULES in channels:
        keys = list(dict.fromkeys(module.key for sub_query in sub_queries for module in sub_query.modules))
        recalled = among(ports.modules.recall(request.collection, keys, match=request.match), passing)
        laps.lap("recall")
        chosen = candidates(recalled, sub_queries, limit=request.candidates, mode=request.mode)
        summaries = ports.modules.describe(request.collection, chosen)
        scored = rank(summaries, sub_queries, match=request.match, mode=request.mode)
        laps.lap("score")
    asked = Asked(texts, channels, [module.text for module in unknown], vocabulary, passing)
    lists = search_lists(asked, claim, request, ports, laps)
    weights = channel_weights(sub_queries, given=bool(request.sub_queries)) if lists.found else {}
    if VECTORS in channels:
        weights = with_vectors(weights)
    # Without another channel there is nothing to fuse, and the module scores are kept.
    ranking = fuse_channels(scored, lists.found, weights=weights) if weights else rank_by_modules(scored)
    names = tuple(dict.fromkeys(module.name for module in unknown))
    return Findings(sub_queries, recalled, scored, ranking, weights, lists.degraded, names, lists.usage)


def find_unknown(sub_queries: Sequence[SubQuery], vocabulary: Vocabulary, request: ModuleSearch) -> list[FoundModule]:
    """Return the modules that the request names, in its parts or as a whole, and that no document has."""
    named = [module for sub_query in sub_queries for module in sub_query.modules]
    return unknown_modules([*named, *analyze_query(request.query)], vocabulary.names, match=request.match)


def among(recalled: Mapping[str, ModuleRecall], passing: AbstractSet[DocumentId] | None) -> Mapping[str, ModuleRecall]:
    """Return what recall found of the documents that pass the filter, if there is one."""
    if passing is None:
        return recalled
    return {
        key: ModuleRecall(exactly=passing & set(found.exactly), all=passing & set(found.all))
        for key, found in recalled.items()
    }


def notes_of(found: Findings, vocabulary: Vocabulary, usage: Usage, request: ModuleSearch, laps: Laps) -> SearchNotes:
    """Collect what the result needs of a branch."""
    by_document = {hit.document: hit for hit in found.scored}
    return SearchNotes(
        raw=tuple(raw_recall(sub_query, found.recalled, request) for sub_query in found.sub_queries),
        ranking=tuple(found.ranking),
        matches=tuple(
            Matches(tuple(explain(hit, found.sub_queries)), tuple(keywords(hit)))
            if (hit := by_document.get(ranked.document))
            else Matches()
            for ranked in found.ranking[: request.top_k]
        ),
        weights=dict(found.weights),
        degraded=tuple(found.degraded),
        timing=laps.ms,
        lexicon_version=vocabulary.version,
        usage=usage.noted(),
        unknown_modules=found.unknown,
    )


def raw_recall(sub_query: SubQuery, recalled: Mapping[str, ModuleRecall], request: ModuleSearch) -> RawRecall:
    """Return what recall found for one sub-query, before scoring combines the sub-queries."""
    own = {module.key: recalled[module.key] for module in sub_query.modules if module.key in recalled}
    return RawRecall(
        description=sub_query.description,
        weight=sub_query.weight,
        normalized_weight=round(sub_query.normalized_weight, SHOWN_PLACES),
        modules=tuple(
            AskedModule(module=module.name, rule=module.rule, text=module.text) for module in sub_query.modules
        ),
        total=len(set().union(*(recalled_.all for recalled_ in own.values()))),
        documents=tuple(candidates(own, [sub_query], limit=request.candidates)) if own else (),
    )


def finish_branch(claim: Claim, outcome: Outcome, request: ModuleSearch, ports: ModulePorts) -> None:
    """Close the branch on the board, then settle the job or report progress."""
    picture = ports.board.finish(claim, outcome)
    if picture is not None:
        conclude(picture, request, ports)


def conclude(picture: Picture, request: ModuleSearch, ports: ModulePorts) -> None:
    """Settle the job if no branch is open, else report the ranking so far."""
    if picture.record.open_steps <= 0:
        settle(picture, request, ports)
    elif (best := best_branch(picture)) is not None and worth_telling(picture):
        ranking = SearchNotes.of(best).ranking
        shown = tuple(PartialHit(key=encode_id(hit.document), score=hit.score) for hit in ranking[: request.top_k])
        ports.board.tell(picture.record.job_id, Hits(after_stage=best.name, total=len(ranking), hits=shown))


def settle(picture: Picture, request: ModuleSearch, ports: ModulePorts) -> None:
    """End the job with the result of the best branch. Without a finished branch the job fails with the reason.

    Raises:
        Unavailable: The store that the result is read from is away: the job is settled later.
    """
    branch = best_branch(picture)
    try:
        ending = (
            lost(picture, why_nothing(picture)) if branch is None else done(to_result(picture, branch, request, ports))
        )
    except Refused as error:
        ending = Verdict("failed", reason=str(error), code=error.code)
    ports.board.settle(picture.record.job_id, ending)


def best_branch(picture: Picture) -> Step | None:
    """Return the branch that the result comes from: the split if it is done, else the original; None if neither is."""
    branches = {branch.name: branch for branch in picture.steps if branch.state == "done"}
    return branches.get(SPLIT) or branches.get(ORIGINAL)
