"""The `rerank` kind: order given hits by their relevance to a question.

    hits -> batch-01 (judge) ─┐
         -> batch-02 (judge) ─┼-> judgements on the board
         -> …                 └-> the last batch combines, orders and settles

Every batch is a step of its own, and no batch waits for another. Hits without a judgement keep the caller's order,
below the judged ones. If the relevance judge is unavailable, the result is in the caller's order and says why.
Rules and formulas: ``rules/reranking.py``.
"""

from collections.abc import Iterator, Mapping, Sequence

from querymill_shared.board import Claim, Outcome, Picture, Step
from querymill_shared.contracts.events import Hits, PartialHit
from querymill_shared.contracts.rerank import Rerank, RerankedHit, RerankResult
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.stages import Laps, missing, stage, timing, used, worth_telling
from querymill_workers.jobs.verdicts import done
from querymill_workers.services.judging import SETTLE_MARGIN_S, JudgedBatch, judge_passages
from querymill_workers.services.ports import RerankPorts
from querymill_workers.services.rules import reranking
from querymill_workers.services.rules.reranking import GivenHit, Reranked, explain

#: Hits reported while batches are running, unless ``top_n`` says how many.
MAX_REPORTED_HITS = 10


def step(claim: Claim, request: Rerank, ports: RerankPorts) -> None:
    """Have the judge judge one batch, and finish the step."""
    laps = Laps(ports)
    passages = {hit.key: hit.text for hit in request.batch(claim.step)}
    caller = caller_of(claim, request, ports, margin_s=SETTLE_MARGIN_S, what="the judge")
    notes = judge_passages(request.query, passages, caller, ports, laps)
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts))
    if picture is not None:
        conclude(picture, request, ports, after=claim.step)


def conclude(picture: Picture, request: Rerank, ports: RerankPorts, *, after: str = "") -> None:
    """Settle the job after the last batch. Until then, report the ranking of the judged hits."""
    if picture.record.open_steps <= 0:
        settle(picture, request, ports)
    elif judgements(picture) and worth_telling(picture):
        ports.board.append_event(picture.record.job_id, standing(picture, request, after))


def standing(picture: Picture, request: Rerank, after: str) -> Hits:
    """Return the ranking of the judged hits while other batches are still running."""
    judged = [hit for hit in reranked(picture, request) if hit.relevance is not None]
    best = tuple(PartialHit(key=hit.id, score=hit.score) for hit in judged[: request.top_n or MAX_REPORTED_HITS])
    return Hits(after_stage=after, total=len(judged), hits=best)


def settle(picture: Picture, request: Rerank, ports: RerankPorts) -> None:
    """Order the hits by the judgements on the board, and end the job."""
    degraded = tuple(missing_judgements(picture, request))
    ranking = reranked(picture, request)
    result = RerankResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=shown(ranking[: request.top_n], request, formulas(picture)),
        total=len(ranking),
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(batch) for batch in batches_in_order(picture)),
        timing=timing(picture),
        usage=used(picture),
    )
    ports.board.settle(picture.record.job_id, done(result, picture))


def reranked(picture: Picture, request: Rerank) -> list[Reranked]:
    """Return the hits, ordered by the judgements on the board."""
    candidates = [GivenHit(hit.key, hit.score) for hit in request.hits]
    return reranking.rerank(candidates, judgements(picture).items(), combine=request.combine)


def judgements(picture: Picture) -> Mapping[str, float]:
    """Return the relevance of each judged hit, from all finished batches."""
    return {hit: relevance for batch in picture.steps for hit, relevance in JudgedBatch.of(batch).judgements.items()}


def formulas(picture: Picture) -> Mapping[str, str]:
    """Return what the relevance of each judged hit follows from, where it is not what the judge said."""
    batches = [JudgedBatch.of(batch) for batch in picture.steps]
    return {hit: notes.relevance_formula for notes in batches for hit in notes.judgements if notes.relevance_formula}


def missing_judgements(picture: Picture, request: Rerank) -> Iterator[Degradation]:
    """Name each batch that is not done, with its reason, and the hits that the judge left out of the others."""
    judged = judgements(picture)
    for batch in batches_in_order(picture):
        yield from missing([batch])
        skipped = [hit.key for hit in request.batch(batch.name) if hit.key not in judged]
        if batch.state == "done" and skipped:
            yield Degradation(
                stage=batch.name,
                reason=f"no relevance from the judge for: {', '.join(skipped)}",
                code="provider_refused",
            )


def batches_in_order(picture: Picture) -> Sequence[Step]:
    """Return the batches in the order of the hits, which a board need not keep."""
    return sorted(picture.steps, key=lambda batch: batch.name)


def shown(ranking: Sequence[Reranked], request: Rerank, formulas_of: Mapping[str, str]) -> tuple[RerankedHit, ...]:
    """Return each hit under the id that the caller gave it, with the explanation of its score."""
    given = {hit.key: hit.id for hit in request.hits}
    return tuple(
        RerankedHit(
            id=given[hit.id],
            score=hit.score,
            similarity=hit.similarity,
            relevance=hit.relevance,
            judged=hit.relevance is not None,
            explanation=explain(hit, combine=request.combine, relevance_formula=formulas_of.get(hit.id, "")),
        )
        for hit in ranking
    )
