"""The relevance judge, and the order that its judgements give.

    branches ─> rerank-01, rerank-02, … (judge) ─> (answer -> judge) ─> settle

The judge reads the best hits in batches, which are steps of their own. A hit that was not judged keeps its place below
the judged ones, and says so.
"""

from collections.abc import Iterable, Sequence

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.reports.ports import ReportPorts
from querymill_workers.retrievers.reports.search.hits import ShownHit
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches
from querymill_workers.services.judging import PASSAGE_TOKENS, judge_batch, judgements_in
from querymill_workers.services.rules.budget import labelled
from querymill_workers.services.rules.reranking import GivenHit, Reranked, explain, rerank
from querymill_workers.services.writing import CitableHit


def judge_hits(
    claim: Claim, picture: Picture, batch: Iterable[CitableHit], request: ReportSearch, ports: ReportPorts, laps: Laps
) -> Outcome:
    """Have the judge judge one batch of the best hits. A page is cut around what matched.

    Raises:
        Unavailable, Refused: See `judge_batch`.
    """
    passages = {str(hit.id): labelled(hit.passage, max_tokens=PASSAGE_TOKENS).text for hit in batch}
    return judge_batch(claim, picture, context_of(request).meaning, passages, request, ports, laps)


def order_by_relevance(hits: Sequence[ShownHit], found: FoundByBranches) -> list[ShownHit]:
    """Return the hits that are returned, by their relevance and similarity."""
    top_n, combine = found.request.top_n, found.request.combine
    by_key = {hit.ranked.key.encoded(): hit for hit in hits}
    # A passage that waits for its vector has no similarity; the least of the others stands in for it.
    least = min((hit.ranked.similarity for hit in hits if hit.ranked.fused is not None), default=1.0)
    given = [GivenHit(key, least if hit.ranked.fused is None else hit.ranked.similarity) for key, hit in by_key.items()]
    judgements, formulas = judgements_in(found.batches)
    ordered = rerank(given, judgements.items(), combine=combine)[:top_n]
    explained = {hit.id: explain(hit, combine=combine, relevance_formula=formulas.get(hit.id, "")) for hit in ordered}
    return [with_relevance(by_key[hit.id], hit, explained[hit.id]) for hit in ordered]


def with_relevance(hit: ShownHit, reranked: Reranked, explanation: dict[str, object]) -> ShownHit:
    """Return a hit with its score after the rerank, and how that came about."""
    changes = {
        "score": reranked.score,
        "relevance": reranked.relevance,
        "explanation": hit.shown.explanation | {"rerank": explanation},
    }
    return ShownHit(hit.ranked, hit.shown.model_copy(update=changes))
