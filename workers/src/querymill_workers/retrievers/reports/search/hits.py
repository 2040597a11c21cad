"""The best hits of the ranking: near duplicates once, with their texts, judged and in their final order.

    branches ─> rerank-01, rerank-02, … (judge) ─> (answer -> judge) ─> settle

The relevance judge reads the best hits in batches, which are steps of their own. A hit that was not judged keeps its
place below the judged ones, and says so.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.reports.search import RERANK, ReportHit, ReportSearch
from querymill_shared.contracts.rerank import BATCH_SIZE
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.reports.ports import PassageText, ReportPorts
from querymill_workers.retrievers.reports.rules.duplicates import Unlike
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.joining import RankedHit, explain_ranked
from querymill_workers.retrievers.reports.rules.pending import PendingHit, explain_pending, with_pending
from querymill_workers.retrievers.reports.search.notes import RerankNotes
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches
from querymill_workers.services.rules.budget import labelled
from querymill_workers.services.rules.reranking import GivenHit, Reranked, explain, rerank
from querymill_workers.services.writing import CitableHit
from querymill_workers.text.judgements import accepted

#: So many times the wanted hits are read at most, to fill the places of near duplicates.
READ_AT_MOST: Final = 4
#: Tokens of a passage that the judge reads: a chunk is shorter, a page is cut around what matched.
PASSAGE_TOKENS: Final = 380
#: The judge is cut this long before the deadline, in seconds: the answer or the result still has to be written.
SETTLE_MARGIN_S: Final = 0.12


class ShownHit(NamedTuple):
    """A hit of the ranking, and as the result has it."""

    ranked: RankedHit
    shown: ReportHit


def choose_hits(found: FoundByBranches, ports: ReportPorts) -> list[tuple[RankedHit, PassageText]]:
    """Return the best hits with their texts: as many as are returned, or as the judge reads.

    Where words do not rank, places are kept for passages without a vector.
    """
    request, ranking = found.request, found.ranking
    if request.ranking == "agreement" and not found.has_words and found.pending:
        known = {hit.key: hit for hit in ranking}
        fusion = [hit.fused for hit in ranking if hit.fused is not None]
        chosen = with_pending(fusion, found.pending, query=request.query, top_n=found.limit)
        ranking = [known.get(hit.key) or RankedHit(hit.key, hit.score, hit.passage) for hit in chosen]
    return distinct_hits(ranking, request, ports, count=found.limit)


def distinct_hits(
    ranking: Sequence[RankedHit], request: ReportSearch, ports: ReportPorts, *, count: int
) -> list[tuple[RankedHit, PassageText]]:
    """Return the first hits of a ranking with their texts.

    Of near duplicates only the first counts. A hit whose report has been replaced since is dropped.
    """
    best: dict[HitKey, tuple[RankedHit, PassageText]] = {}
    unlike: Unlike[HitKey] = Unlike({}, {})
    for start in range(0, min(len(ranking), READ_AT_MOST * count), count):
        part = ranking[start : start + count]
        texts = ports.reports.texts(request.collection, [hit.key for hit in part])
        for hit in part:
            text = texts.get(hit.key)
            if text is not None and len(best) < count and unlike.take(hit.key, text.text):
                best[hit.key] = (hit, text)
        if len(best) == count:
            break
    for key, others in unlike.alike.items():
        hit, text = best[key]
        best[key] = (hit._replace(duplicates=tuple(others)), text)
    return list(best.values())


def show_hits(best: Iterable[tuple[RankedHit, PassageText]], found: FoundByBranches) -> list[ShownHit]:
    """Return hits as the result has them."""
    pending = {hit.key: hit for hit in found.pending}
    return [ShownHit(hit, show_hit(hit, text, pending.get(hit.key), found.request)) for hit, text in best]


def show_hit(hit: RankedHit, text: PassageText, pending: PendingHit | None, request: ReportSearch) -> ReportHit:
    """Return a hit with every number that its score is made of. ``pending``: what words found without a vector."""
    explanation: dict[str, Any]
    if hit.fused is None and hit.by_words is None and pending is not None:
        explanation = explain_pending(pending, query=request.query)
    else:
        explanation = explain_ranked(hit, inner_factor=request.inner_factor)
    return ReportHit(
        document=hit.key.document,
        unit=hit.key.unit,
        number=hit.key.number,
        page=text.page,
        title=text.card.title,
        company=text.card.company,
        period=text.card.period,
        text=text.text,
        score=hit.score,
        similarity=hit.similarity,
        explanation=explanation,
        metadata=text.metadata if request.shows_metadata else None,
    )


def show_to_model(hits: Iterable[ShownHit], request: ReportSearch, ports: ReportPorts) -> list[CitableHit]:
    """Return hits as prompts show them: under title, company, period and page, and cut around what matched."""
    by_key = {hit.ranked.key: hit for hit in hits}
    chunks = {
        key: HitKey(key.document, "chunk", hit.ranked.passage) for key, hit in by_key.items() if key.unit == "page"
    }
    texts = ports.reports.texts(request.collection, list(chunks.values())) if chunks else {}
    matched = {key: texts[chunk].text for key, chunk in chunks.items() if chunk in texts}
    return [citable(key, hit.shown, matched.get(key, "")) for key, hit in by_key.items()]


def citable(key: HitKey, hit: ReportHit, matched: str) -> CitableHit:
    """Return a hit as a prompt shows it. Its label has its title, company and period once each, and its page."""
    whose = [part for part in (hit.title, hit.company, hit.period) if part]
    label = ", ".join([*dict.fromkeys(whose), f"page {hit.page}"])
    return CitableHit(key.encoded(), hit.text, hit.page, hit.title, label=label, matched=matched)


def judge_batch(claim: Claim, found: FoundByBranches, ports: ReportPorts, laps: Laps) -> Outcome:
    """Have the judge judge one batch of the best hits.

    Raises:
        Unavailable: The judge did not reply in time, or no time is left for a call.
        Refused: Another call would not help.
    """
    request = found.request
    start = (int(claim.step.removeprefix(f"{RERANK}-")) - 1) * BATCH_SIZE
    batch = show_hits(choose_hits(found, ports)[start : start + BATCH_SIZE], found)
    prompted = show_to_model(batch, request, ports)
    passages = {str(hit.id): labelled(hit.passage, max_tokens=PASSAGE_TOKENS).text for hit in prompted}
    if not passages:  # near duplicates have left none for it
        return Outcome(notes=RerankNotes().for_board(), ms=laps.total_ms, parts=laps.parts)
    caller = caller_of(claim, request, ports, margin_s=SETTLE_MARGIN_S, what="the judge")
    judged, usage = ports.judge.judge(request.query, passages, caller=caller)
    laps.lap("judge")
    notes = RerankNotes(
        judgements=accepted(judged.items(), known=passages),
        relevance_formula=ports.judge.relevance_formula,
        read=tuple(passages),
        usage=usage.noted(),
        timing=laps.ms,
    )
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def final_hits(found: FoundByBranches, ports: ReportPorts) -> list[ShownHit]:
    """Return the hits of the result, in their final order."""
    hits = show_hits(choose_hits(found, ports), found)
    return order_by_relevance(hits, found) if found.request.rerank else hits


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
