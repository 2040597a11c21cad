"""Have the relevance judge read the candidates of a search, a batch in each step, within its share of the deadline.

    candidates ─> rerank-01, rerank-02, … (judge), side by side ─> one order (``rules/reranking.py``)

How many are read and how long is said in the contract (`Reranks`). A judge that fails or is late costs its judgements.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import Field

from querymill_shared.board import Claim, Outcome, Picture, Step
from querymill_shared.contracts.fields import AnyRequest
from querymill_shared.contracts.rerank import Reranks, judge_s, judges_batch
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.search import AnySearch
from querymill_workers.jobs.backoff import soonest_again_s
from querymill_workers.jobs.deadline import Caller, caller_of, naming_lateness
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps
from querymill_workers.services.ports import RerankPorts
from querymill_workers.text.judgements import accepted

#: Tokens of a passage that the judge reads: a chunk is shorter, a longer text is cut.
PASSAGE_TOKENS: Final = 380
#: The judge is cut this long before the deadline, in seconds: the step still has to finish, and the job to settle.
SETTLE_MARGIN_S: Final = 0.12


class JudgedBatch(StepNotes):
    """The notes of a batch: the relevance of each judged hit, by the hit's key, and the hits that it read.

    ``relevance_formula`` is how a relevance follows from what the judge said, or "" if it is that itself.
    """

    judgements: dict[str, float] = Field(default_factory=dict)
    relevance_formula: str = ""
    read: tuple[str, ...] = ()


def is_to_judge(request: AnyRequest, ports: RerankPorts) -> bool:
    """Return whether a search has its candidates judged: it asks for that, or does where there is a judge."""
    if not isinstance(request, Reranks) or request.rerank is False:
        return False
    return request.rerank is True or ports.judge.is_configured


def judge_passages(
    question: str, passages: Mapping[str, str], caller: Caller, ports: RerankPorts, laps: Laps
) -> JudgedBatch:
    """Return what the judge says of some passages, by their keys.

    Raises:
        Unavailable: The judge did not reply in time.
        Refused: Another call would not help.
    """
    judged, usage = ports.judge.judge(question, passages, caller=caller)
    laps.lap("judge")
    return JudgedBatch(
        judgements=accepted(judged.items(), known=passages),
        relevance_formula=ports.judge.relevance_formula,
        read=tuple(passages),
        usage=usage.noted(),
        timing=laps.ms,
    )


def judge_batch(
    claim: Claim,
    picture: Picture,
    question: str,
    passages: Mapping[str, str],
    request: AnySearch,
    ports: RerankPorts,
    laps: Laps,
) -> Outcome:
    """Have the judge read one batch of the candidates of a search. Return what closes the step.

    Raises:
        Unavailable: The judge did not reply in time, and there is time to ask it again.
        Refused: Another call would not help, or its share of the deadline is over.
    """
    if not passages:
        return Outcome(notes=JudgedBatch().for_board(), ms=laps.total_ms, parts=laps.parts)
    left_s = left_of_share_s(claim, picture, request)
    if left_s <= 0:
        raise Refused("the judge's share of the deadline was over before it was asked", code="slow")
    caller = caller_of(claim, request, ports, margin_s=SETTLE_MARGIN_S, what="the judge", patience_s=left_s)
    began = ports.clock()
    try:
        with naming_lateness(caller):
            notes = judge_passages(question, passages, caller.for_extras(), ports, laps)
    except Unavailable as error:
        if left_s - (ports.clock() - began) < soonest_again_s(error, claim.counts):
            raise Refused(str(error), code=error.code) from error
        raise
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def left_of_share_s(claim: Claim, picture: Picture, request: AnySearch) -> float:
    """Return how many seconds the judge has left. Its share begins when the last of the candidates were found."""
    ended = [step.ended for step in picture.steps if not judges_batch(step.name) and step.ended is not None]
    found_s = max(ended, default=picture.record.created) - picture.record.created
    return found_s + judge_s(request.deadline) - claim.age_s


def judged_batches(steps: Iterable[Step]) -> dict[str, JudgedBatch]:
    """Return the notes of each batch of a search that the judge has read, by step."""
    return {step.name: JudgedBatch.of(step) for step in steps if judges_batch(step.name) and step.state == "done"}


def judgements_in(batches: Mapping[str, JudgedBatch]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the relevance of each judged hit, and what it follows from, both by the hit's key."""
    return (
        {key: relevance for batch in batches.values() for key, relevance in batch.judgements.items()},
        {key: batch.relevance_formula for batch in batches.values() for key in batch.judgements},
    )


def unjudged(batches: Mapping[str, JudgedBatch]) -> Iterator[Degradation]:
    """Name the hits that the judge has read and said nothing of."""
    for name, batch in batches.items():
        if skipped := [key for key in batch.read if key not in batch.judgements]:
            reason = f"no relevance from the judge for: {', '.join(skipped)}"
            yield Degradation(stage=name, reason=reason, code="provider_refused")
