"""Build the result of a search: hits with explanations, histories and the prompt, from the notes of one branch."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from querymill_shared.board import Picture, Step
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.search import (
    ModuleDocumentHit,
    ModuleResult,
    ModuleSearch,
    RankedDocument,
    ScoreMode,
)
from querymill_workers.jobs.stages import missing, stage, timing, used
from querymill_workers.retrievers.modules.notes import Matches, SearchNotes
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.join import FusedHit
from querymill_workers.retrievers.modules.rules.prompt import PromptDocument, build_prompt
from querymill_workers.retrievers.modules.rules.scores import SHOWN_PLACES
from querymill_workers.text.rank_fusion import K

#: How a score is computed from the explanation of each sub-query.
FORMULAS: Final[Mapping[ScoreMode, str]] = {
    "hits": "Σ hits × normalized_weight",
    "coverage": "Σ hits / modules asked × normalized_weight",
}


def to_result(picture: Picture, branch: Step, request: ModuleSearch, ports: ModulePorts) -> ModuleResult:
    """Build the result from the notes of a branch.

    Raises:
        Unavailable: The store does not respond.
        Refused: The store rejects the query.
    """
    notes = SearchNotes.of(branch)
    hits = fetch_hits(notes, request, ports)
    degraded = notes.degraded + missing(picture.steps)
    return ModuleResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=hits,
        total=len(notes.ranking),
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(step) for step in picture.steps),
        timing=timing(picture),
        usage=used(picture),
        searched_by=branch.name,
        lexicon_version=notes.lexicon_version,
        unknown_modules=notes.unknown_modules,
        raw_history=notes.raw,
        reranked_history=tuple(to_ranked_document(hit, place) for place, hit in enumerate(notes.ranking, start=1)),
        prompt=build_prompt(
            request.query,
            [PromptDocument(hit.file_path, hit.score, hit.matched_keywords, hit.description, hit.code) for hit in hits],
            budget=request.prompt_tokens,
            count_tokens=ports.count_tokens,
        ),
        why_not=notes.why_not,
    )


def to_ranked_document(hit: FusedHit, place: int) -> RankedDocument:
    """Build a row of the history: place in the whole ranking, score, and rank in each channel."""
    return RankedDocument(
        rank=place,
        document=hit.document,
        score=round(hit.score, SHOWN_PLACES),
        channels={name: channel.rank for name, channel in hit.channels.items()},
    )


def fetch_hits(notes: SearchNotes, request: ModuleSearch, ports: ModulePorts) -> tuple[ModuleDocumentHit, ...]:
    """Fetch the documents of the first ``top_k`` hits. A document that no longer exists is left out."""
    best = notes.ranking[: request.top_k]
    documents = ports.modules.documents(request.collection, [hit.document for hit in best])
    return tuple(
        to_hit(documents[hit.document], hit, matches, notes.weights, request)
        for hit, matches in zip(best, notes.matches, strict=True)
        if hit.document in documents
    )


def to_hit(
    document: ModuleDocument, hit: FusedHit, matches: Matches, weights: Mapping[str, float], request: ModuleSearch
) -> ModuleDocumentHit:
    """Build a hit, with every number that its score is made of."""
    why: dict[str, Any] = (
        {"formula": "Σ weight / (k + rank)", "k": K, "weights": {name: weights[name] for name in hit.channels}}
        if weights
        else {"formula": FORMULAS[request.mode], "mode": request.mode, "match": request.match}
    )
    score = round(hit.score, SHOWN_PLACES)
    return ModuleDocumentHit(
        document=document.document,
        file_path=document.file_path,
        code=document.code,
        description=document.meta_info.description,
        modules=document.meta_info.vtkjs_modules,
        metadata=dict(document.metadata),
        score=score,
        rerank_score=score,
        channels={
            name: {"rank": channel.rank, "score": round(channel.score, SHOWN_PLACES)}
            for name, channel in hit.channels.items()
        },
        match_explanation=tuple(asdict(part) for part in matches.parts),
        matched_keywords=matches.keywords,
        explanation=why,
    )
