"""The relevance judge, and the order that its judgements give.

    branches ─> rerank-01, rerank-02, … (judge) ─> (answer -> judge) ─> settle

The judge reads the best hits in batches, which are steps of their own. A hit that was not judged keeps its place below
the judged ones, and says so.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.reports.search import RERANK, ReportSearch
from querymill_shared.contracts.rerank import BATCH_SIZE
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.reports.ports import ReportPorts
from querymill_workers.retrievers.reports.search.hits import ShownHit
from querymill_workers.retrievers.reports.search.notes import RerankNotes
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches
from querymill_workers.services.rules.budget import labelled
from querymill_workers.services.rules.reranking import GivenHit, Reranked, explain, rerank
from querymill_workers.services.writing import CitableHit
from querymill_workers.text.judgements import accepted

#: Tokens of a passage that the judge reads: a chunk is shorter, a page is cut around what matched.
PASSAGE_TOKENS: Final = 380
#: The judge is cut this long before the deadline, in seconds: the answer or the result still has to be written.
SETTLE_MARGIN_S: Final = 0.12


def batch_of(step: str) -> slice:
    """Return which of the best hits a step of the rerank judges."""
    start = (int(step.removeprefix(f"{RERANK}-")) - 1) * BATCH_SIZE
    return slice(start, start + BATCH_SIZE)


def judge_batch(
    claim: Claim, batch: Iterable[CitableHit], request: ReportSearch, ports: ReportPorts, laps: Laps
) -> Outcome:
    """Have the judge judge one batch of the best hits.

    Raises:
        Unavailable: The judge did not reply in time, or no time is left for a call.
        Refused: Another call would not help.
    """
    passages = {str(hit.id): labelled(hit.passage, max_tokens=PASSAGE_TOKENS).text for hit in batch}
    if not passages:  # near duplicates have left none for it
        return Outcome(notes=RerankNotes().for_board(), ms=laps.total_ms, parts=laps.parts)
    caller = caller_of(claim, request, ports, margin_s=SETTLE_MARGIN_S, what="the judge")
    question = context_of(request).meaning
    judged, usage = ports.judge.judge(question, passages, caller=caller.for_extras())
    laps.lap("judge")
    notes = RerankNotes(
        judgements=accepted(judged.items(), known=passages),
        relevance_formula=ports.judge.relevance_formula,
        read=tuple(passages),
        usage=usage.noted(),
        timing=laps.ms,
    )
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def order_by_relevance(hits: Sequence[ShownHit], found: FoundByBranches) -> list[ShownHit]:
    """Return the hits that are returned, by their relevance and similarity."""
    top_n, combine = found.request.top_n, found.request.combine
    by_key = {hit.ranked.key.encoded(): hit for hit in hits}
    # A passage that waits for its vector has no similarity; the least of the others stands in for it.
    least = min((hit.ranked.similarity for hit in hits if hit.ranked.fused is not None), default=1.0)
    given = [GivenHit(key, least if hit.ranked.fused is None else hit.ranked.similarity) for key, hit in by_key.items()]
    judgements = {key: relevance for batch in found.batches.values() for key, relevance in batch.judgements.items()}
    formulas = {key: batch.relevance_formula for batch in found.batches.values() for key in batch.judgements}
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
