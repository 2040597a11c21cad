"""`modules`: a request in, the code that uses the modules it speaks of out.

    request ─> original ──────────────────┐ analyse -> recall -> score ┐
            └> split (chat model: parts) ─┤                            ├-> join by rank -> hits on the board
                                          └ words of the request ──────┘
               the last branch settles: documents, explanations, prompt

The parts of a finished split replace the request as it stands; a split that fails leaves it. Rules: ``domain/``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_shared.board import Claim, Outcome, Picture, Step, Verdict
from querymill_shared.contracts.events import Hits, PartialHit
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.search import (
    ORIGINAL,
    SPLIT,
    WEIGHT,
    ModuleDocumentHit,
    ModuleResult,
    ModuleSearch,
    RawRecall,
    ScoreMode,
)
from querymill_shared.contracts.modules.search import RankedDocument as RankedRow
from querymill_shared.contracts.results import Degradation
from querymill_shared.hits import BoardHit
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import Laps, stage, timing, used, why_nothing, worth_telling
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.modules.ports import SPACE, Vocabulary
from querymill_workers.retrievers.modules.rules.join import (
    MODULES,
    TEXT,
    RankedDocument,
    by_modules,
    channel_weights,
    joined,
)
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, modules_of
from querymill_workers.retrievers.modules.rules.names import DocumentId, shorthands_of
from querymill_workers.retrievers.modules.rules.prompt import PromptDocument, build_prompt
from querymill_workers.retrievers.modules.rules.scores import (
    SHOWN_PLACES,
    Recalled,
    ScoredDocument,
    SubQuery,
    candidates,
    explain,
    keywords,
    rank,
    shares,
)
from querymill_workers.retrievers.modules.rules.text import weighted_parts
from querymill_workers.text.rank_fusion import K

#: How a score follows from the explanation of each sub-query.
FORMULAS: Final[Mapping[ScoreMode, str]] = {
    "hits": "Σ hits × normalized_weight",
    "coverage": "Σ hits / modules asked × normalized_weight",
}
#: What searching is left of the deadline when the chat call is cut, in seconds.
SEARCH_MARGIN_S = 0.2


@dataclass(frozen=True, slots=True)
class Searched:
    """What one branch found, and how; ``weights`` is empty where no channels were joined."""

    sub_queries: Sequence[SubQuery]
    recalled: Mapping[str, Recalled]
    scored: Sequence[ScoredDocument]
    ranking: Sequence[RankedDocument]
    weights: Mapping[str, float]
    degraded: Sequence[Degradation]


def step(claim: Claim, request: ModuleSearch, ports: Ports) -> Sequence[Bell]:
    """Carry out one branch: find its parts, search both channels, hand in."""
    laps = Laps(ports)
    try:
        parts, usage = parts_of(claim, request, ports)
    except Unavailable as error:
        return handed_in(claim, Outcome(state="failed", reason=str(error), ms=laps.total_ms), request, ports)
    laps.lap("parts")
    vocabulary = ports.modules.vocabulary(request.collection)
    found = searched(analysed(parts, vocabulary, request, ports), request, ports, laps)
    hits = tuple(BoardHit(encoded(hit.document), hit.score, 0) for hit in found.ranking)
    notes = noted(found, request) | {
        "timing": laps.ms,
        "lexicon_version": vocabulary.version,
        "usage": {"provider_calls": usage.calls, "tokens": usage.tokens},
    }
    return handed_in(claim, Outcome(hits={claim.step: hits}, notes=notes, ms=laps.total_ms), request, ports)


def parts_of(claim: Claim, request: ModuleSearch, ports: Ports) -> tuple[list[tuple[str, float]], Usage]:
    """Take the parts that were given, let a chat model find some, or take the request as the only one.

    Raises:
        Unavailable: The chat model gave no parts.
    """
    if claim.step != SPLIT:
        given = [(part.description, part.weight) for part in request.sub_queries]
        return given or [(request.query, WEIGHT)], Usage()
    until = None if claim.expires_at is None else claim.expires_at - SEARCH_MARGIN_S
    if until is not None and until <= ports.clock():
        raise Unavailable("cut by the deadline before the chat model was asked")
    caller = Caller(request.collection, request.lane, until)
    reply, usage = ports.rewriter.rewrite("parts", request.query, terms={}, caller=caller)
    parts = weighted_parts(reply)
    if not parts:
        raise Unavailable("the chat model's reply held no parts")
    return parts, usage


def analysed(
    parts: Sequence[tuple[str, float]], vocabulary: Vocabulary, request: ModuleSearch, ports: Ports
) -> list[SubQuery]:
    """Find the modules that each part asks for."""
    shorthands = shorthands_of(ports.shorthands, vocabulary.names)
    lexicon = vocabulary.lexicon if request.lexicon else EMPTY
    return [
        SubQuery(text, weight, share, modules_of(text, shorthands=shorthands, lexicon=lexicon))
        for (text, weight), share in zip(parts, shares([weight for _, weight in parts]), strict=True)
    ]


def searched(sub_queries: Sequence[SubQuery], request: ModuleSearch, ports: Ports, laps: Laps) -> Searched:
    """Search the channels that were asked for, and join them."""
    recalled: Mapping[str, Recalled] = {}
    scored: list[ScoredDocument] = []
    if MODULES in request.channels:
        keys = list(dict.fromkeys(module.key for sub_query in sub_queries for module in sub_query.modules))
        recalled = ports.modules.recall(request.collection, keys, match=request.match)
        laps.lap("recall")
        chosen = candidates(recalled, sub_queries, most=request.candidates, mode=request.mode)
        cards = ports.modules.cards(request.collection, chosen)
        scored = rank(cards, sub_queries, match=request.match, mode=request.mode)
        laps.lap("score")
    found, degraded = found_by_words(request, ports) if TEXT in request.channels else ([], [])
    laps.lap("text")
    weights = channel_weights(sub_queries)
    # Without words there is nothing to join: the module scores stand as they are.
    is_joined = TEXT in request.channels and not degraded
    ranking = joined(scored, found, weights=weights) if is_joined else by_modules(scored)
    return Searched(sub_queries, recalled, scored, ranking, weights if is_joined else {}, degraded)


def found_by_words(request: ModuleSearch, ports: Ports) -> tuple[list[tuple[DocumentId, float]], list[Degradation]]:
    """Search the words of the request; where modules are searched too, their hits stand without it."""
    try:
        hits = ports.words.search(request.collection, SPACE, request.query, most=request.candidates)
    except Unavailable as error:
        if MODULES not in request.channels:
            raise
        return [], [Degradation(stage=TEXT, reason=str(error))]
    return [(decoded(hit.id), hit.score) for hit in hits], []


def noted(found: Searched, request: ModuleSearch) -> dict[str, Any]:
    """Put down what the result will need of a branch."""
    by_document = {hit.document: hit for hit in found.scored}
    return {
        "raw": [raw(sub_query, found.recalled, request) for sub_query in found.sub_queries],
        "ranking": [
            [hit.document, hit.score, {name: list(place) for name, place in hit.channels.items()}]
            for hit in found.ranking
        ],
        "matches": [
            [explain(hit, found.sub_queries), keywords(hit)] if (hit := by_document.get(ranked.document)) else [[], []]
            for ranked in found.ranking[: request.top_k]
        ],
        "weights": dict(found.weights),
        "degraded": [part.model_dump() for part in found.degraded],
    }


def raw(sub_query: SubQuery, recalled: Mapping[str, Recalled], request: ModuleSearch) -> dict[str, Any]:
    """Put down what recall returned for one part, before any scoring across parts."""
    own = {module.key: recalled[module.key] for module in sub_query.modules if module.key in recalled}
    return {
        "description": sub_query.description,
        "weight": sub_query.weight,
        "normalized_weight": round(sub_query.normalized_weight, SHOWN_PLACES),
        "modules": [{"module": module.name, "rule": module.rule, "text": module.text} for module in sub_query.modules],
        "total": len(set().union(*(one.all for one in own.values()))),
        "documents": candidates(own, [sub_query], most=request.candidates) if own else [],
    }


def handed_in(claim: Claim, outcome: Outcome, request: ModuleSearch, ports: Ports) -> Sequence[Bell]:
    """Close the branch on the board and go on from what the board then shows."""
    picture = ports.board.finish(claim, outcome)
    if picture is not None:
        conclude(picture, request, ports)
    return []


def conclude(picture: Picture, request: ModuleSearch, ports: Ports) -> None:
    """Settle if that was the last branch, else tell how the ranking stands."""
    if picture.record.open_steps <= 0:
        settle(picture, request, ports)
    elif (best := chosen(picture)) is not None and worth_telling(picture):
        ranking = best.notes["ranking"]
        shown = [PartialHit(key=encoded(document), score=score) for document, score, _ in ranking[: request.top_k]]
        ports.board.tell(picture.record.job_id, Hits(after_stage=best.name, total=len(ranking), hits=tuple(shown)))


def settle(picture: Picture, request: ModuleSearch, ports: Ports) -> None:
    """End the job with the best branch there is; without one it fails, with the reason."""
    try:
        ending = verdict(picture, request, ports)
    except (Unavailable, Refused) as error:
        ending = Verdict("failed", reason=str(error))
    ports.board.settle(picture.record.job_id, ending)


def chosen(picture: Picture) -> Step | None:
    """Choose the branch that the answer is from: the split request if it came through, else the request itself."""
    done = {branch.name: branch for branch in picture.steps if branch.state == "done"}
    return done.get(SPLIT) or done.get(ORIGINAL)


def verdict(picture: Picture, request: ModuleSearch, ports: Ports) -> Verdict:
    """Decide how the job ends with what the board shows."""
    branch = chosen(picture)
    if branch is None:
        dead = any(one.notes.get("dead") for one in picture.steps)
        return Verdict("dead" if dead else "failed", reason=why_nothing(picture))
    notes = branch.notes
    hits = shown(notes, request, ports)
    degraded = [Degradation.model_validate(part) for part in notes["degraded"]]
    degraded += [
        Degradation(stage=one.name, reason=one.reason or "cut by the deadline")
        for one in picture.steps
        if one.state != "done"
    ]
    result = ModuleResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=hits,
        total=len(notes["ranking"]),
        complete=not degraded,
        degraded=tuple(degraded),
        stages=tuple(stage(one) for one in picture.steps),
        timing=timing(picture),
        usage=used(picture),
        searched_by=branch.name,
        lexicon_version=notes["lexicon_version"],
        raw_history=tuple(RawRecall.model_validate(part) for part in notes["raw"]),
        reranked_history=tuple(ranked_rows(notes["ranking"])),
        prompt=build_prompt(
            request.query,
            [PromptDocument(hit.file_path, hit.score, hit.matched_keywords, hit.description, hit.code) for hit in hits],
            budget=request.prompt_tokens,
            count_tokens=ports.count_tokens,
        ),
    )
    return Verdict("done", result=result.model_dump_json(), complete=result.complete)


def ranked_rows(ranking: Sequence[Sequence[Any]]) -> list[RankedRow]:
    """Show the whole ranking: place, score, and the rank in each channel."""
    return [
        RankedRow(
            rank=place,
            document=document,
            score=round(score, SHOWN_PLACES),
            channels={name: found[0] for name, found in channels.items()},
        )
        for place, (document, score, channels) in enumerate(ranking, start=1)
    ]


def shown(notes: Mapping[str, Any], request: ModuleSearch, ports: Ports) -> tuple[ModuleDocumentHit, ...]:
    """Put the documents behind the hits; one that was deleted meanwhile is dropped."""
    best = notes["ranking"][: request.top_k]
    documents = ports.modules.documents(request.collection, [document for document, _, _ in best])
    return tuple(
        hit_of(documents[document], score, channels, matches, notes["weights"], request)
        for (document, score, channels), matches in zip(best, notes["matches"], strict=True)
        if document in documents
    )


def hit_of(
    document: ModuleDocument,
    score: float,
    channels: Mapping[str, Sequence[Any]],
    matches: Sequence[Any],
    weights: Mapping[str, float],
    request: ModuleSearch,
) -> ModuleDocumentHit:
    """Show a document, with every number that its score is made of."""
    why: dict[str, Any] = (
        {"formula": "Σ weight / (k + rank)", "k": K, "weights": {name: weights[name] for name in channels}}
        if weights
        else {"formula": FORMULAS[request.mode], "mode": request.mode, "match": request.match}
    )
    shown_score = round(score, SHOWN_PLACES)
    return ModuleDocumentHit(
        document=document.document,
        file_path=document.file_path,
        code=document.code,
        description=document.meta_info.description,
        modules=document.meta_info.vtkjs_modules,
        metadata=dict(document.metadata),
        score=shown_score,
        rerank_score=shown_score,
        channels={name: {"rank": place, "score": round(own, SHOWN_PLACES)} for name, (place, own) in channels.items()},
        match_explanation=tuple(matches[0]),
        matched_keywords=tuple(matches[1]),
        explanation=why,
    )


def encoded(document: DocumentId) -> str:
    """Write a document id as text that keeps the number 0 and the path "0" apart."""
    return json.dumps(document, ensure_ascii=False)


def decoded(text: str) -> DocumentId:
    """Read what `encoded` wrote."""
    document: DocumentId = json.loads(text)
    return document
