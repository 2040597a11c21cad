"""The way of a step, whatever the kind of job: answer the bell, do the step, hand it in, or say why not.

bell -> claim (lease, attempt) -> flow's step -> finish (fenced) -> the last one in settles
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

#: Waits before the second, third… attempt of a step, in seconds: somebody waits for a job with a deadline,
#: and a job without one should outlive the restart of a provider.
BACKOFF_S = (0.25, 0.5, 1.0, 2.0, 5.0)
DURABLE_BACKOFF_S = (1.0, 10.0, 30.0, 60.0)


def flow_of(request: JobRequest) -> Flow[Ports]:
    """Choose the flow of a request: one arm for each retriever."""
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
    """Choose the flow of a request that no retriever serves."""
    return reindex.flow_of(request) if isinstance(request, Reindex) else services.flow_of(request)


def answer(bell: Bell, ports: Ports) -> Sequence[Bell]:
    """Do the step a bell names, if it is still to be done; return the bells to ring next."""
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
        except Exception as error:  # noqa: BLE001  # a bug of ours must not leave a job silent
            _log.exception("step broke", job_id=claim.job_id, step=claim.step, attempt=claim.attempt)
            return try_again_or_fail(claim, f"internal error: {type(error).__name__}", ports)


def conclude(picture: Picture, ports: Ports) -> Sequence[Bell]:
    """Go on from a closed step: settle the job if nothing follows, else show how things stand."""
    return [] if picture.request is None else flow_of(picture.request).conclude(picture, ports)


def try_again_or_fail(claim: Claim, reason: str, ports: Ports, *, not_before_s: float = 0.0) -> Sequence[Bell]:
    """Put the step back for a while; give it up when its attempts or the job's time are used up."""
    waits = DURABLE_BACKOFF_S if claim.expires_at is None else BACKOFF_S
    delay = max(waits[min(claim.attempt, len(waits)) - 1], not_before_s)
    in_time = claim.expires_at is None or ports.clock() + delay < claim.expires_at
    if claim.attempt >= ports.max_attempts or not in_time:
        return fail(claim, reason, ports)
    ports.board.postpone(claim, delay_s=delay, reason=reason)
    return []


def fail(claim: Claim, reason: str, ports: Ports, *, dead: bool = False) -> Sequence[Bell]:
    """Close a step as failed, and go on without it."""
    picture = ports.board.finish(
        claim, Outcome(state="failed", reason=reason, notes=FailureNotes(dead=dead).for_board())
    )
    return [] if picture is None else conclude(picture, ports)


def fail_unreadable(picture: Picture, ports: Ports, *, past_deadline: bool = False) -> None:
    """End a job whose request nobody here can read: at its deadline, or at once where it has none."""
    if past_deadline or picture.record.deadline is None:
        ports.board.settle(picture.record.job_id, Verdict("failed", reason=picture.unreadable))


def settle_at_deadline(picture: Picture, ports: Ports) -> None:
    """End a job with what is there, because its time is up."""
    if picture.request is not None:
        flow_of(picture.request).settle(picture, ports)
