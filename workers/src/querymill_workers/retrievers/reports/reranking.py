"""The stage that reranks: the relevance judge reads the best hits, in batches that are steps of their own.

    branches ─> rerank-01, rerank-02, … (judge) ─> (answer -> judge) ─> settle

A hit that was not judged keeps its place below the judged ones, and says so.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import Field

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.reports.search import RERANK, ReportHit, ReportSearch
from querymill_shared.contracts.rerank import BATCH_SIZE
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.deadline import CUT, caller_of
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.reports.findings import Findings
from querymill_workers.retrievers.reports.ports import PassageText, ReportPorts
from querymill_workers.retrievers.reports.ranked import best_hits, citable, matched_texts, report_hits
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.joining import RankedHit
from querymill_workers.services.rules.budget import labelled
from querymill_workers.services.rules.reranking import GivenHit, explain, rerank
from querymill_workers.services.writing import CitableHit
from querymill_workers.text.judgements import accepted

#: The judge reads twice the wanted hits, but not more than this.
MAX_JUDGED: Final = 50
#: Tokens of a passage that the judge reads: a chunk is shorter, a page is cut around what matched.
PASSAGE_TOKENS: Final = 380
#: The judge is cut this long before the deadline, in seconds: the answer or the result still has to be written.
SETTLE_MARGIN_S: Final = 0.12


class RerankNotes(StepNotes):
    """The notes of a batch: the relevance of each judged hit, by the hit's key, and the hits that it read."""

    judgements: dict[str, float] = Field(default_factory=dict)
    read: tuple[str, ...] = ()


@value
class Shown:
    """The final hits, as the result has them and as a prompt shows them."""

    hits: tuple[ReportHit, ...]
    citable: Sequence[CitableHit]


def is_rerank(step: str) -> bool:
    """Return whether a step is a batch of the rerank."""
    return step.startswith(RERANK)


def judged_at_most(request: ReportSearch) -> int:
    """Return how many hits are judged."""
    return max(min(2 * request.top_n, MAX_JUDGED), request.top_n)


def batches(findings: Findings) -> list[str]:
    """Name a step for each batch of hits."""
    count = min(len(findings.ranking), judged_at_most(findings.request))
    return [f"{RERANK}-{number:02}" for number in range(1, -(-count // BATCH_SIZE) + 1)]


def wants_steps(findings: Findings) -> bool:
    """Return whether hits are to be reranked, and no batch was added yet."""
    return (
        findings.request.rerank
        and not any(is_rerank(step.name) for step in findings.picture.steps)
        and bool(findings.ranking)
    )


def run_step(claim: Claim, findings: Findings, ports: ReportPorts) -> Outcome:
    """Have the judge judge one batch.

    Raises:
        Unavailable: The judge did not reply in time, or no time is left for a call.
        Refused: Another call would not help.
    """
    request = findings.request
    laps = Laps(ports)
    start = (int(claim.step.removeprefix(f"{RERANK}-")) - 1) * BATCH_SIZE
    hits = best_hits(findings, ports, count=judged_at_most(request))[start : start + BATCH_SIZE]
    shown = as_prompted(hits, findings, ports)
    passages = {str(hit.id): labelled(hit.passage, max_tokens=PASSAGE_TOKENS).text for hit in shown}
    if not passages:  # near duplicates have left none for it
        return Outcome(notes=RerankNotes().for_board(), ms=laps.total_ms, parts=laps.parts)
    caller = caller_of(claim, request, ports, margin_s=SETTLE_MARGIN_S, what="the judge")
    judged, usage = ports.judge.judge(request.query, passages, caller=caller)
    laps.lap("judge")
    notes = RerankNotes(
        judgements=accepted(judged.items(), known=passages),
        read=tuple(passages),
        usage=usage.noted(),
        timing=laps.ms,
    )
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def as_prompted(
    hits: Sequence[tuple[RankedHit, PassageText]], findings: Findings, ports: ReportPorts
) -> list[CitableHit]:
    """Return hits as prompts show them."""
    matched = matched_texts([hit for hit, _ in hits], findings.request, ports)
    return [
        citable(shown, matched.get(hit.key, ""))
        for (hit, _), shown in zip(hits, report_hits(hits, findings), strict=True)
    ]


def final_hits(findings: Findings, ports: ReportPorts) -> tuple[ReportHit, ...]:
    """Return the hits of the result, in their final order."""
    request = findings.request
    if not request.rerank:
        return tuple(report_hits(best_hits(findings, ports, count=request.top_n), findings))
    hits = best_hits(findings, ports, count=judged_at_most(request))
    by_key = {
        hit.key.encoded(): (hit, shown) for (hit, _), shown in zip(hits, report_hits(hits, findings), strict=True)
    }
    # A passage that waits for its vector has no similarity; the least of the others stands in for it.
    least = min((hit.similarity for hit, _ in by_key.values() if hit.fused is not None), default=1.0)
    given = [GivenHit(key, hit.similarity if hit.fused is not None else least) for key, (hit, _) in by_key.items()]
    judgements = judgements_of(findings.picture)
    ranking = rerank(given, judgements.items(), combine=request.combine)
    return tuple(
        by_key[hit.id][1].model_copy(
            update={
                "score": hit.score,
                "relevance": hit.relevance,
                "explanation": by_key[hit.id][1].explanation | {"rerank": explain(hit, combine=request.combine)},
            }
        )
        for hit in ranking[: request.top_n]
    )


def judgements_of(picture: Picture) -> dict[str, float]:
    """Return the relevance of each judged hit, from all finished batches."""
    return {
        hit: relevance
        for step in picture.steps
        if is_rerank(step.name) and step.state == "done"
        for hit, relevance in RerankNotes.of(step).judgements.items()
    }


def missing_judgements(findings: Findings) -> Iterator[Degradation]:
    """Name a rerank that never began, and the hits that the judge left out. For failed batches see `missing`."""
    if wants_steps(findings):
        yield Degradation(stage=RERANK, reason=CUT, code="deadline")
    for step in findings.picture.steps:
        if is_rerank(step.name) and step.state == "done":
            notes = RerankNotes.of(step)
            skipped = [key for key in notes.read if key not in notes.judgements]
            if skipped:
                yield Degradation(
                    stage=step.name,
                    reason=f"no relevance from the judge for: {', '.join(skipped)}",
                    code="provider_refused",
                )


def sources_of(findings: Findings, ports: ReportPorts) -> list[CitableHit]:
    """Return the final hits as the answer may cite them, in the order of the result."""
    passages = {hit.key: hit.passage for hit in findings.ranking}
    hits = final_hits(findings, ports)
    keys = [HitKey(hit.document, hit.unit, hit.number) for hit in hits]
    found = [RankedHit(key, hit.score, passages[key]) for key, hit in zip(keys, hits, strict=True) if key in passages]
    matched = matched_texts(found, findings.request, ports)
    return [citable(hit, matched.get(key, "")) for key, hit in zip(keys, hits, strict=True)]
