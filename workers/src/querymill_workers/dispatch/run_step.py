"""Run one step of any kind of job: claim it, run its flow, finish it, or record why it failed.

bell -> claim (life, attempt) -> the flow's step -> finish (fenced) -> the last step settles the job
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeVar

import structlog

from querymill_shared.board import Cause, Claim, Claims, Outcome, Picture, Verdict
from querymill_shared.board.away import AWAY
from querymill_shared.board.calls import COUNTERS
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.documents import DocumentRequest
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.files import FileRequest
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.modules import ModuleRequest
from querymill_shared.contracts.reindex import Reindex
from querymill_shared.contracts.reports import ReportRequest
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.search import AnySearch, Search
from querymill_shared.contracts.vectors import EmbedDocuments, Reembed, WeighVectors
from querymill_shared.tracing import Span, span
from querymill_workers.dispatch import embedding, expanding, joint, reindex, reranking
from querymill_workers.dispatch.ports import Ports
from querymill_workers.documents import flow as documents
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.backoff import is_used_up, wait_s, within
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import fail_at_deadline, late_verdict
from querymill_workers.jobs.faults import Refused, Unavailable, kinds_of
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.job_counts import counting
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.jobs.notes import FailureNotes
from querymill_workers.jobs.processor import charged_to
from querymill_workers.jobs.verdicts import lost_search
from querymill_workers.retrievers.conversations import flow as conversations
from querymill_workers.retrievers.files import flow as files
from querymill_workers.retrievers.messages import flow as messages
from querymill_workers.retrievers.modules import flow as modules
from querymill_workers.retrievers.reports import flow as reports
from querymill_workers.services import flow as services

_log = structlog.get_logger(__name__)

T = TypeVar("T")
#: What asks one retriever, or what serves all in the same way.
ServiceRequest = services.ServiceRequest | DocumentRequest | Reindex | EmbedDocuments | Reembed | WeighVectors
KindRequest = (
    Extend | ReportRequest | MessageRequest | ModuleRequest | ConversationRequest | FileRequest | ServiceRequest
)

#: While the board is away, the fate of a step is reported again after this long, and for this long, in seconds.
REPORT_EVERY_S, REPORT_FOR_S = 1.0, 600.0
#: Why a step is given up whose workers kept dying.
NO_ATTEMPTS_LEFT = "no worker finished it in {} attempts"

#: What a malformed value on the board, or a mistake of ours, raises. The failures of stores and providers are others.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)

NOBODY_READS = "no worker of this fleet can read its request: "


def flow_of(request: JobRequest) -> Flow[Ports]:
    """Return the flow of a request: that of its kind, of all its branches, or with a judge at the end of either."""
    if isinstance(request, AnySearch) and not isinstance(request, ReportSearch) and request.rerank:
        return reranking.flow_of(request, flow_of)
    if isinstance(request, Search):
        return joint.flow_of(request, flow_of)
    if isinstance(request, ExpandsInBranches) and request.expansions:
        return expanding.flow_of(request, flow_of)
    return flow_of_kind(request)


def flow_of_kind(request: KindRequest) -> Flow[Ports]:
    """Return the flow of a request: one arm for each retriever."""
    if isinstance(request, Extend):
        return messages.flow_of(request) if request.retriever == "messages" else conversations.flow_of(request)
    if isinstance(request, ReportRequest):
        return reports.flow_of(request)
    if isinstance(request, MessageRequest):
        return messages.flow_of(request)
    if isinstance(request, ModuleRequest):
        return modules.flow_of(request)
    if isinstance(request, ConversationRequest):
        return conversations.flow_of(request)
    if isinstance(request, FileRequest):
        return files.flow_of(request)
    return flow_of_service(request)


def flow_of_service(request: ServiceRequest) -> Flow[Ports]:
    """Return the flow of a request that serves every retriever in the same way."""
    if isinstance(request, DocumentRequest):
        return documents.flow_of(request)
    if isinstance(request, EmbedDocuments | Reembed | WeighVectors):
        return embedding.flow_of(request)
    return reindex.flow_of(request) if isinstance(request, Reindex) else services.flow_of(request)


def run_step(bell: Bell, ports: Ports) -> Sequence[Bell]:
    """Run the step that a bell names, if it is still open. Return the bells to ring next."""
    return [rung for claim in claim_steps(bell, ports, limit=1).held for rung in run_claim(claim, ports)]


def claim_steps(bell: Bell, ports: Ports, *, limit: int) -> Claims:
    """Claim the step that a bell names, and up to ``limit`` - 1 others of its queue."""
    try:
        return ports.board.claim_steps(bell.job_id, bell.step, life=ports.heartbeat.life, limit=limit)
    except UnreadableJob as error:
        if error.left_for_s >= ports.outage_patience_s:
            ports.board.settle(bell.job_id, Verdict("dead", reason=NOBODY_READS + error.reason, code="pending"))
        return Claims()
    except Unavailable as error:
        # The stores cannot tell the largest version. The sweeper rings again.
        _log.warning("the version of a write cannot be told yet", job_id=bell.job_id, step=bell.step, error=str(error))
        return Claims()


def run_claim(claim: Claim, ports: Ports) -> Sequence[Bell]:
    """Run a step that this process holds. Return the bells to ring next."""
    if claim.counts.spent >= ports.max_attempts:
        return fail(claim, NO_ATTEMPTS_LEFT.format(claim.counts.spent), ports, dead=True, code="lost")
    ports.count(f"steps_run/{claim.request.queue_of(claim.step)}", 1)
    with (
        ports.heartbeat.keep(claim),
        counting(claim),
        charged_to(claim.request, ports.count),
        traced(claim) as part,
    ):
        try:
            return flow_of(claim.request).step(claim, ports)
        except Exception as error:  # noqa: BLE001  # a bug must not leave a job without an end
            part.fail(type(error).__name__)
            log_failure(claim, error)
            raised = error
        return insist(lambda: answer_to(raised, claim, ports))


def traced(claim: Claim) -> AbstractContextManager[Span]:
    """Return the part of its caller's trace that running a step is."""
    return span(
        f"{claim.request.kind} {claim.step}",
        "CONSUMER",
        parent=claim.traceparent,
        querymill__job_id=claim.job_id,
        querymill__kind=claim.request.kind,
        querymill__collection=claim.request.collection,
        querymill__step=claim.step,
        querymill__attempt=claim.attempt,
        querymill__age_ms=round(claim.age_s * 1000),
        **{f"querymill__label__{name}": value for name, value in claim.labels.items()},
    )


def answer_to(error: Exception, claim: Claim, ports: Ports) -> Sequence[Bell]:
    """Put a step back or fail it, as the error that it raised demands."""
    if isinstance(error, Unavailable):
        return try_again_or_fail(
            claim, str(error), ports, cause=error.cause, code=error.code, not_before_s=error.again_in_s
        )
    if isinstance(error, Refused):
        return fail(claim, str(error), ports, code=error.code, counts_as=error.counts_as)
    if isinstance(error, AWAY):
        return try_again_or_fail(claim, f"board: {type(error).__name__}", ports, cause="outage", code="store_down")
    _log.error("step raised", job_id=claim.job_id, step=claim.step, attempt=claim.attempt, exc_info=error)
    return try_again_or_fail(claim, f"internal error: {type(error).__name__}", ports)


def insist(report: Callable[[], T], *, pause: Callable[[float], None] = time.sleep) -> T:
    """Report the fate of a step, again and again while the board is away: until it knows, nobody else may take over.

    Raises:
        redis.RedisError: The board was away for `REPORT_FOR_S`.
    """
    for _ in range(int(REPORT_FOR_S / REPORT_EVERY_S)):
        try:
            return report()
        except AWAY as error:
            _log.warning("the board is away: the fate of a step is reported later", error=type(error).__name__)
            pause(REPORT_EVERY_S)
    return report()


def conclude(picture: Picture, ports: Ports) -> Sequence[Bell]:
    """Continue after a step has closed: add the next steps, report progress, or settle the job.

    If a store that this reads is away, nothing changes: the job stays due, and the sweeper concludes it later.
    """
    if picture.request is None:
        return []
    try:
        return flow_of(picture.request).conclude(picture, ports)
    except MALFORMED as error:
        end_malformed(picture, error, ports)
    except Unavailable as error:
        _log.info("the end of a job is put off", job_id=picture.record.job_id, fault=kinds_of(error))
    except Refused as error:
        ports.board.settle(picture.record.job_id, Verdict("failed", reason=str(error), code=error.code))
    return []


def conclude_again(job_id: str, ports: Ports) -> Sequence[Bell]:
    """Conclude a job whose last step has closed, though what followed failed: a lost connection is replaced at once."""
    if ports.board.has_ended(job_id):
        return []
    picture = ports.board.picture(job_id)
    return conclude(picture, ports) if picture.record.open_steps <= 0 else []


def try_again_or_fail(
    claim: Claim, reason: str, ports: Ports, *, cause: Cause = "failure", code: Code = "bug", not_before_s: float = 0.0
) -> Sequence[Bell]:
    """Put the step back, or fail it if it has no attempts or patience left, or another attempt would miss the deadline.

    A durable job whose step fails like this is dead: it is kept, so that it can be replayed once the cause is mended.
    """
    is_durable, before = claim.expires_at is None, getattr(claim.counts, COUNTERS[cause])
    left_s = None if claim.expires_at is None else claim.expires_at - ports.clock()
    wait = wait_s(cause, before, is_durable=is_durable, chance=random.random())  # noqa: S311  # jitter is no secret
    delay = within(wait, left_s, not_before_s=not_before_s)
    if delay is None or has_no_attempt_left(claim, cause, ports):
        return fail(claim, reason, ports, dead=is_durable, code=code)
    parts = job_counts.current().close()
    is_held = ports.board.postpone(claim, delay_s=delay, reason=reason, cause=cause, code=code, parts=parts)
    return [] if is_held else conclude_again(claim.job_id, ports)


def has_no_attempt_left(claim: Claim, cause: Cause, ports: Ports) -> bool:
    """Whether a step that is to be put back has used up its attempts or its patience.

    A step that made progress since it was claimed has all its attempts again, so the board is asked before it fails.
    """
    counts = claim.counts
    if cause == "failure" and counts.spent + 1 >= ports.max_attempts:
        steps = {step.name: step.counts for step in ports.board.picture(claim.job_id).steps}
        counts = steps.get(claim.step, counts)
    return is_used_up(
        cause, counts, max_attempts=ports.max_attempts, age_s=claim.age_s, patience_s=ports.outage_patience_s
    )


def fail(
    claim: Claim, reason: str, ports: Ports, *, code: Code, dead: bool = False, counts_as: str = ""
) -> Sequence[Bell]:
    """Close a step as failed, and continue without it."""
    notes = FailureNotes(dead=dead, counts_as=counts_as).for_board()
    outcome = Outcome("failed", reason, notes=notes, code=code, parts=job_counts.current().close())
    picture = ports.board.finish(claim, outcome)
    return [] if picture is None else conclude(picture, ports)


def fail_unreadable(picture: Picture, ports: Ports) -> None:
    """Fail a job whose request this worker cannot read, at its deadline."""
    tried = any(step.attempt for step in picture.steps)
    cause = "its deadline passed, and the sweeper cannot read its request: " if tried else NOBODY_READS
    ports.board.settle(picture.record.job_id, Verdict("failed", reason=cause + picture.unreadable, code="deadline"))


def is_unbegun_search(picture: Picture) -> bool:
    """Whether a job asks for hits, and no worker has begun any of its steps."""
    return isinstance(picture.request, AnySearch | Search) and not any(step.attempt for step in picture.steps)


def verdict_unbegun(picture: Picture) -> Verdict:
    """Return the verdict at its deadline of a search that no worker has begun: as its flow would settle it."""
    if picture.request is not None and flow_of(picture.request).settle is fail_at_deadline:
        return late_verdict(picture)
    return replace(lost_search(picture), code="deadline")


def settle_at_deadline(picture: Picture, ports: Ports) -> None:
    """Settle a job at its deadline, with the results that it has. It fails if the store that holds them is away."""
    if picture.request is None:
        return
    flow = flow_of(picture.request)
    try:
        try:
            flow.settle(picture, ports)
        except Unavailable:  # it may be one connection that was lost, and no later attempt follows
            flow.settle(picture, ports)
    except MALFORMED as error:
        end_malformed(picture, error, ports)
    except (Unavailable, Refused) as error:
        ports.board.settle(picture.record.job_id, Verdict("failed", reason=str(error), code=error.code))


def end_malformed(picture: Picture, error: Exception, ports: Ports) -> None:
    """Fail a job that cannot be concluded from what is on the board. Another try would not change it."""
    _log.warning("could not conclude a job", job_id=picture.record.job_id, exc_info=error)
    reason = f"its steps left what cannot be concluded from: {type(error).__name__}"
    ports.board.settle(picture.record.job_id, Verdict("failed", reason=reason, code="bug"))
