"""The result of a search whose candidates were judged: the best of them in their new order, and what is missing."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from querymill_shared.board import Picture, Step, Verdict
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.conversations.search import ConversationHit
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.kinds import limit_of
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleSearch
from querymill_shared.contracts.rerank import RERANK, judges_batch, most_judged
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.search import AnySearch, AnySearchResult, JointHit, Search, SearchResult
from querymill_workers.dispatch import expanding
from querymill_workers.dispatch.endings import BranchEnding
from querymill_workers.dispatch.expanding.show import added, id_of, limit_in
from querymill_workers.dispatch.joint.evidence import text_of
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.reranking.board import CANDIDATES, CandidatesBoard
from querymill_workers.dispatch.reranking.passages import Candidate, own_hit
from querymill_workers.dispatch.reranking.request import for_candidates
from querymill_workers.dispatch.reranking.rules import absence_in
from querymill_workers.expansion.notes import texts_by_branch
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import missing, stage, used
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.files.search.show import joined_again
from querymill_workers.retrievers.modules.search.show import prompt_for
from querymill_workers.services.judging import judged_batches, judgements_in, unjudged
from querymill_workers.services.rules.reranking import GivenHit, Reranked, explain, rerank


def judged_of(found: BranchEnding, request: AnySearch) -> Sequence[Candidate]:
    """Return the candidates that the judge reads: none where the search has given them another order than relevance."""
    first = next(iter(found.hits), None)
    if isinstance(first, ConversationHit) and first.placed_by != "score":
        return ()
    return found.hits[: most_judged(request.deadline)]


def show_result(picture: Picture, found: BranchEnding, request: AnySearch, ports: Ports) -> Verdict:
    """Return the verdict of a search: that of the search for candidates, in the order of the judge."""
    base = found.result
    if base is None:
        return lost(picture, found.reason)
    steps = [step for step in picture.steps if judges_batch(step.name)]
    order = ordered(steps, found.hits)
    shown = [with_rerank(found.hits[int(each.id) - 1], each, steps) for each in order] if steps else list(found.hits)
    hits = first_of(shown, base, request)
    joined, unread = joined_from(hits, base, picture, request, ports)
    degraded = (*base.degraded, *lacking(steps, found, request), *unread)
    changed = {
        "job_id": picture.record.job_id,
        "results": tuple(hits),
        "complete": not degraded,
        "degraded": degraded,
        "stages": (*base.stages, *map(stage, steps)),
        "usage": added(base.usage, used(picture, steps)),
    }
    if not isinstance(base, SearchResult) and not isinstance(request, Search):
        changed["why_not"] = absence_in(base.why_not, order, shown=len(hits), limit=limit_of(type(request)))
    return done(base.model_copy(update=changed | joined), picture)


def ordered(steps: Sequence[Step], candidates: Sequence[Candidate]) -> list[Reranked]:
    """Return the candidates in their new order, each named by its place before, from 1."""
    judgements, _ = judgements_in(judged_batches(steps))
    given = [GivenHit(str(place), hit.score) for place, hit in enumerate(candidates, start=1)]
    return rerank(given, judgements.items(), combine="relevance")


def with_rerank(hit: Candidate, reranked: Reranked, steps: Sequence[Step]) -> Candidate:
    """Return a candidate with its score by the judge, explained beside the score that the search gave it."""
    _, formulas = judgements_in(judged_batches(steps))
    why = explain(reranked, combine="relevance", relevance_formula=formulas.get(reranked.id, ""))
    changed: dict[str, Any] = {"score": reranked.score, "explanation": {**hit.explanation, "rerank": why}}
    if isinstance(hit, ModuleDocumentHit):
        changed["rerank_score"] = reranked.score
    return hit.model_copy(update=changed)


def first_of(hits: Sequence[Candidate], base: AnySearchResult, request: AnySearch) -> list[Any]:
    """Return the hits that a search returns."""
    if isinstance(request, Search):
        joint = [hit for hit in hits if isinstance(hit, JointHit)]
        return grouped(joint, request.top_k) if request.group else joint[: request.top_k]
    return [] if isinstance(base, SearchResult) else list(hits[: limit_in(request, base)])


def grouped(hits: Sequence[JointHit], limit: int) -> list[JointHit]:
    """Return hits kind by kind, the kind of the first hit first, up to ``limit`` of each."""
    kinds = dict.fromkeys(hit.kind for hit in hits)
    return [hit for kind in kinds for hit in [each for each in hits if each.kind == kind][:limit]]


def lacking(steps: Sequence[Step], found: BranchEnding, request: AnySearch) -> Iterator[Degradation]:
    """Name what was not judged: batches that failed or never began, and hits that the judge left out."""
    yield from missing(steps)
    yield from unjudged(judged_batches(steps))
    if steps or not found.hits:
        return
    if judged_of(found, request):
        yield Degradation(stage=RERANK, reason=CUT, code="deadline")
    elif request.rerank is True:
        yield Degradation(stage=RERANK, reason="the hits are in an order that was asked for", code="invalid")


def joined_from(
    hits: Sequence[Any], base: AnySearchResult, picture: Picture, request: AnySearch, ports: Ports
) -> tuple[dict[str, Any], Sequence[Degradation]]:  # fmt: skip
    """Return what a kind joins from the hits that it returns, and what of it could not be read."""
    if isinstance(request, ModuleSearch):
        return {"prompt": prompt_for(request, hits, ports)}, ()
    if not isinstance(request, FileSearch) or not isinstance(base, FileResult):
        return {}, ()
    asked = cast("FileSearch", for_candidates(request)).model_copy(update={"context_budget": request.context_budget})
    try:
        return joined_again(base, searched_in(picture, request, ports), hits, asked, ports), ()
    except (Unavailable, Refused) as error:
        return {}, [Degradation(stage="context", reason=str(error), code=error.code)]


def searched_in(picture: Picture, request: FileSearch, ports: Ports) -> list[Picture]:
    """Return what the search for candidates saw of the job: one picture for each of its branches, if it has any."""
    asked = cast("FileSearch", for_candidates(request))
    whole = CandidatesBoard(ports.board, request).shown(picture)
    if not request.expansions:
        return [whole]
    texts = texts_by_branch(whole, asked)
    return [expanding.board_of(ports.board, branch, texts, asked).shown(whole) for branch in (ORIGINAL, *texts)]


def show_candidates(found: BranchEnding, request: AnySearch) -> Hits:
    """Return the candidates in the order of the search as an event: readers see them while the judge reads."""
    result = found.result
    hits = [] if result is None else first_of(found.hits, result, request)
    return Hits(
        after_stage=CANDIDATES,
        total=len(found.hits),
        hits=tuple(
            PartialHit(
                key=key_of(hit, request.kind), score=hit.score,
                text=text_of(own_hit(hit))[:TOLD_CHARS] or None if place < TOLD_TEXTS else None,
            )
            for place, hit in enumerate(hits)
        ),
    )  # fmt: skip


def key_of(hit: Candidate, kind: str) -> str:
    """Return what names a hit while a job runs."""
    return f"{hit.kind}/{hit.collection}#{hit.rank}" if isinstance(hit, JointHit) else id_of(hit, kind)
