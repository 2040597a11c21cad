"""Show what a branch has found: the ranking so far, or the result with its hits, histories and prompt.

If the split succeeds, the result comes from its parts. If it fails, the result comes from the request itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from querymill_shared.board import Picture, Step, Verdict
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.events import Hits, PartialHit
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.search import (
    SPLIT,
    ModuleDocumentHit,
    ModuleResult,
    ModuleSearch,
    RankedDocument,
    ScoreMode,
)
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.in_chat import context_of, texts_of, use_of
from querymill_workers.jobs.stages import missing, stage, timing, used, worth_telling
from querymill_workers.jobs.verdicts import done, lost_search
from querymill_workers.retrievers.modules.notes import BranchNotes, FusedDocument, MatchReasons
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.documents import encode_id
from querymill_workers.retrievers.modules.rules.scores import SHOWN_PLACES
from querymill_workers.retrievers.modules.search.prompt import PromptDocument, build_prompt
from querymill_workers.retrievers.modules.search.understand import VECTORS
from querymill_workers.text.rank_fusion import K
from querymill_workers.vectors.rules.weights import explain_weight

#: How a score is computed from the explanation of each part.
FORMULAS: Final[Mapping[ScoreMode, str]] = {
    "hits": "Σ hits × normalized_weight",
    "coverage": "Σ hits / modules asked × normalized_weight",
}


def conclude(picture: Picture, request: ModuleSearch, ports: ModulePorts) -> None:
    """Settle the job if no branch is open, else report the ranking so far."""
    if picture.record.open_steps <= 0:
        settle(picture, request, ports)
    elif (best := best_branch(picture)) is not None and worth_telling(picture):
        ranking = BranchNotes.of(best).ranking
        shown = tuple(PartialHit(key=encode_id(hit.document), score=hit.score) for hit in ranking[: request.top_k])
        ports.board.append_event(picture.record.job_id, Hits(after_stage=best.name, total=len(ranking), hits=shown))


def settle(picture: Picture, request: ModuleSearch, ports: ModulePorts) -> None:
    """End the job with the result of the best branch. Without a finished branch the job fails with the reason.

    Raises:
        Unavailable: The store that the result is read from is away: the job is settled later.
    """
    branch = best_branch(picture)
    try:
        ending = lost_search(picture) if branch is None else done(to_result(picture, branch, request, ports), picture)
    except Refused as error:
        ending = Verdict("failed", reason=str(error), code=error.code)
    ports.board.settle(picture.record.job_id, ending)


def best_branch(picture: Picture) -> Step | None:
    """Return the branch that the result comes from: the split if it is done, else the original; None if neither is."""
    branches = {branch.name: branch for branch in picture.steps if branch.state == "done"}
    return branches.get(SPLIT) or branches.get(ORIGINAL)


def to_result(picture: Picture, branch: Step, request: ModuleSearch, ports: ModulePorts) -> ModuleResult:
    """Build the result from the notes of a branch.

    Raises:
        Unavailable: The store does not respond.
        Refused: The store rejects the query.
    """
    notes, asked = BranchNotes.of(branch), context_of(request)
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
        prompt=prompt_for(request, hits, ports),
        why_not=notes.why_not,
        expansion_texts=texts_of(asked),
        history=use_of(request),
    )


def prompt_for(request: ModuleSearch, hits: Sequence[ModuleDocumentHit], ports: ModulePorts) -> str:
    """Build the prompt of a request from its hits."""
    return build_prompt(
        context_of(request).meaning,
        [PromptDocument(hit.file_path, hit.score, hit.matched_keywords, hit.description, hit.code) for hit in hits],
        budget=request.prompt_tokens,
        count_tokens=ports.count_tokens,
    )


def to_ranked_document(hit: FusedDocument, place: int) -> RankedDocument:
    """Build a row of the history: place in the whole ranking, score, and rank in each channel."""
    return RankedDocument(
        rank=place,
        document=hit.document,
        score=round(hit.score, SHOWN_PLACES),
        channels={name: channel.rank for name, channel in hit.channels.items()},
    )


def fetch_hits(notes: BranchNotes, request: ModuleSearch, ports: ModulePorts) -> tuple[ModuleDocumentHit, ...]:
    """Fetch the documents of the first ``top_k`` hits. A document that no longer exists is left out."""
    best = notes.ranking[: request.top_k]
    documents = ports.modules.documents(request.collection, [hit.document for hit in best])
    return tuple(
        to_hit(documents[hit.document], hit, matches, notes, request)
        for hit, matches in zip(best, notes.matches, strict=True)
        if hit.document in documents
    )


def to_hit(
    document: ModuleDocument,
    hit: FusedDocument,
    matches: MatchReasons,
    notes: BranchNotes,
    request: ModuleSearch,
) -> ModuleDocumentHit:
    """Build a hit, with every number that its score is made of."""
    weights = notes.weights
    compared = any(name.startswith(VECTORS) for name in hit.channels) and notes.weight is not None
    origin = explain_weight(notes.weight) if compared and notes.weight is not None else {}
    why: dict[str, Any] = (
        {"formula": "Σ weight / (k + rank)", "k": K, "weights": {name: weights[name] for name in hit.channels}} | origin
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
