"""Run one step of any kind of job: claim it, run its flow, finish it, or record why it failed.

bell -> claim (lease, attempt) -> the flow's step -> finish (fenced) -> the last step settles the job
"""

from collections.abc import Sequence

import structlog

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.files import FileRequest
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.modules import ModuleRequest
from querymill_shared.contracts.reindex import Reindex
from querymill_shared.contracts.reports import ReportRequest
from querymill_workers.dispatch import reindex
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.notes import FailureNotes
from querymill_workers.retrievers.conversations import flow as conversations
from querymill_workers.retrievers.files import flow as files
from querymill_workers.retrievers.messages import flow as messages
from querymill_workers.retrievers.modules import flow as modules
from querymill_workers.retrievers.reports import flow as reports
from querymill_workers.services import flow as services

_log = structlog.get_logger(__name__)

#: Waits before the second, third, … attempt of a step, in seconds. They are short for a job with a deadline, because
#: a user waits for it. They are long for a job without one, so that it survives the restart of a provider.
BACKOFF_S = (0.25, 0.5, 1.0, 2.0, 5.0)
DURABLE_BACKOFF_S = (1.0, 10.0, 30.0, 60.0)


def flow_of(request: JobRequest) -> Flow[Ports]:
    """Return the flow of a request: one arm for each retriever."""
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


def flow_of_service(request: services.ServiceRequest | Reindex) -> Flow[Ports]:
    """Return the flow of a request that no retriever serves."""
    return reindex.flow_of(request) if isinstance(request, Reindex) else services.flow_of(request)


def run_step(bell: Bell, ports: Ports) -> Sequence[Bell]:
    """Run the step that a bell names, if it is still open. Return the bells to ring next."""
    try:
        claim = ports.board.claim(bell.job_id, bell.step)
    except UnreadableJob:
        fail_unreadable(ports.board.picture(bell.job_id), ports)
        return []
    if claim is None:
        return []
    with ports.heartbeat.keep(claim):
        try:
            return flow_of(claim.request).step(claim, ports)
        except Unavailable as error:
            return try_again_or_fail(claim, str(error), ports, not_before_s=error.again_in_s)
        except Refused as error:
            return fail(claim, str(error), ports)
        except Exception as error:  # noqa: BLE001  # a bug must not leave a job without an end
            _log.exception("step raised", job_id=claim.job_id, step=claim.step, attempt=claim.attempt)
            return try_again_or_fail(claim, f"internal error: {type(error).__name__}", ports)


def conclude(picture: Picture, ports: Ports) -> Sequence[Bell]:
    """Continue after a step has closed: add the next steps, report progress, or settle the job."""
    return [] if picture.request is None else flow_of(picture.request).conclude(picture, ports)


def try_again_or_fail(claim: Claim, reason: str, ports: Ports, *, not_before_s: float = 0.0) -> Sequence[Bell]:
    """Put the step back for a retry, or fail it if it has no attempts left or the retry would miss the deadline."""
    waits = DURABLE_BACKOFF_S if claim.expires_at is None else BACKOFF_S
    delay = max(waits[min(claim.attempt, len(waits)) - 1], not_before_s)
    in_time = claim.expires_at is None or ports.clock() + delay < claim.expires_at
    if claim.attempt >= ports.max_attempts or not in_time:
        return fail(claim, reason, ports)
    ports.board.postpone(claim, delay_s=delay, reason=reason)
    return []


def fail(claim: Claim, reason: str, ports: Ports, *, dead: bool = False) -> Sequence[Bell]:
    """Close a step as failed, and continue without it."""
    picture = ports.board.finish(
        claim, Outcome(state="failed", reason=reason, notes=FailureNotes(dead=dead).for_board())
    )
    return [] if picture is None else conclude(picture, ports)


def fail_unreadable(picture: Picture, ports: Ports, *, past_deadline: bool = False) -> None:
    """End a job whose request this release cannot read: at its deadline, or at once if it has none."""
    if past_deadline or picture.record.deadline is None:
        ports.board.settle(picture.record.job_id, Verdict("failed", reason=picture.unreadable))


def settle_at_deadline(picture: Picture, ports: Ports) -> None:
    """Settle a job at its deadline, with the results that it has."""
    if picture.request is not None:
        flow_of(picture.request).settle(picture, ports)
