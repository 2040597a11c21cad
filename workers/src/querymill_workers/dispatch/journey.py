"""The way of a step, whatever the kind of job: answer the bell, do the step, hand it in, or say why not.

bell -> claim (lease, attempt) -> flow's step -> finish (fenced) -> the last one in settles
"""

from collections.abc import Sequence
from typing import assert_never

import structlog

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.conversations.ingest import DropConversation, IngestConversation, UpdateConversation
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.files.ingest import CompareFiles, EmbedFiles, IngestFiles
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import EmbedMessages, ForgetSession, ReembedMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.ingest import IngestModule
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reindex import Reindex
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.rerank import Rerank
from querymill_workers.dispatch import reindex
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.retrievers.conversations import ingest as ingest_conversations
from querymill_workers.retrievers.conversations import search as conversations
from querymill_workers.retrievers.conversations.ranks import list as list_ranks
from querymill_workers.retrievers.conversations.ranks import recompute as recompute_ranks
from querymill_workers.retrievers.files import compare as compare_files
from querymill_workers.retrievers.files import embed as embed_files
from querymill_workers.retrievers.files import ingest as ingest_files
from querymill_workers.retrievers.files import results as file_results
from querymill_workers.retrievers.files import search as files
from querymill_workers.retrievers.messages import embed as embed_messages
from querymill_workers.retrievers.messages import forget as forget_messages
from querymill_workers.retrievers.messages import ingest as ingest_messages
from querymill_workers.retrievers.messages import reembed as reembed_messages
from querymill_workers.retrievers.messages import search as messages
from querymill_workers.retrievers.modules import ingest as ingest_modules
from querymill_workers.retrievers.modules import learn as learn_lexicon
from querymill_workers.retrievers.modules import search as modules
from querymill_workers.retrievers.reports import ingest as ingest_reports
from querymill_workers.retrievers.reports import search as reports
from querymill_workers.services import answer as answer_flow
from querymill_workers.services import embed, rerank

_log = structlog.get_logger(__name__)

#: Waits before the second, third… attempt of a step, in seconds: somebody waits for a job with a deadline,
#: and a job without one should outlive the restart of a provider.
BACKOFF_S = (0.25, 0.5, 1.0, 2.0, 5.0)
DURABLE_BACKOFF_S = (1.0, 10.0, 30.0, 60.0)


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
            return step(claim, ports)
        except Unavailable as error:
            return try_again_or_fail(claim, str(error), ports, not_before_s=error.again_in_s)
        except Refused as error:
            return fail(claim, str(error), ports)
        except Exception as error:  # noqa: BLE001  # a bug of ours must not leave a job silent
            _log.exception("step broke", job_id=claim.job_id, step=claim.step, attempt=claim.attempt)
            return try_again_or_fail(claim, f"internal error: {type(error).__name__}", ports)


def step(claim: Claim, ports: Ports) -> Sequence[Bell]:  # noqa: C901  # one arm for each kind, and nothing else
    """Hand a claimed step to the flow of its kind."""
    match claim.request:
        case ReportSearch() as request:
            return reports.step(claim, request, ports)
        case IngestReport() as request:
            return ingest_reports.step(claim, request, ports)
        case MessageSearch() as request:
            return messages.step(claim, request, ports)
        case IngestSession() as request:
            return ingest_messages.step(claim, request, ports)
        case EmbedMessages() as request:
            return embed_messages.step(claim, request, ports)
        case ReembedMessages() as request:
            return reembed_messages.step(claim, request, ports)
        case ForgetSession() as request:
            return forget_messages.step(claim, request, ports)
        case Reindex() as request:
            return reindex.step(claim, request, ports)
        case ConversationSearch() as request:
            return conversations.step(claim, request, ports)
        case EmbedTexts() as request:
            return embed.step(claim, request, ports)
        case CompareFiles() as request:
            return compare_files.step(claim, request, ports)
        case IngestFiles() as request:
            return ingest_files.step(claim, request, ports)
        case EmbedFiles() as request:
            return embed_files.step(claim, request, ports)
        case Rerank() as request:
            return rerank.step(claim, request, ports)
        case AnswerQuestion() as request:
            return answer_flow.step(claim, request, ports)
        case ModuleSearch() as request:
            return modules.step(claim, request, ports)
        case IngestModule() as request:
            return ingest_modules.step(claim, request, ports)
        case LearnLexicon() as request:
            return learn_lexicon.step(claim, request, ports)
        case IngestConversation() as request:
            return ingest_conversations.step(claim, request, ports)
        case UpdateConversation() as request:
            return ingest_conversations.update(claim, request, ports)
        case DropConversation() as request:
            return ingest_conversations.drop(claim, request, ports)
        case RecomputeRanks() as request:
            return recompute_ranks.step(claim, request, ports)
        case RankList() as request:
            return list_ranks.step(claim, request, ports)
        case FileSearch() as request:
            return files.step(claim, request, ports)
        case _:
            assert_never(claim.request)


def conclude(picture: Picture, ports: Ports) -> Sequence[Bell]:  # noqa: C901  # one arm for each kind, and nothing else
    """Go on from a closed step: settle the job if nothing follows, else show how things stand."""
    match picture.request:
        case ReportSearch() as request:
            return reports.conclude(picture, request, ports)
        case IngestReport():
            one_step.conclude(picture, ingest_reports.to_result, ports)
        case MessageSearch() as request:
            messages.conclude(picture, request, ports)
        case IngestSession():
            one_step.conclude(picture, ingest_messages.to_result, ports)
        case EmbedMessages():
            one_step.conclude(picture, embed_messages.to_result, ports)
        case ReembedMessages() as request:
            reembed_messages.conclude(picture, request, ports)
        case ForgetSession():
            one_step.conclude(picture, forget_messages.to_result, ports)
        case Reindex():
            one_step.conclude(picture, reindex.to_result, ports)
        case ConversationSearch():
            conversations.conclude(picture, ports)
        case EmbedTexts():
            one_step.conclude(picture, embed.to_result, ports)
        case CompareFiles():
            one_step.conclude(picture, compare_files.to_result, ports)
        case IngestFiles():
            one_step.conclude(picture, ingest_files.to_result, ports)
        case EmbedFiles():
            one_step.conclude(picture, embed_files.to_result, ports)
        case Rerank() as request:
            rerank.conclude(picture, request, ports)
        case AnswerQuestion() as request:
            return answer_flow.conclude(picture, request, ports)
        case ModuleSearch() as request:
            modules.conclude(picture, request, ports)
        case IngestModule():
            one_step.conclude(picture, ingest_modules.to_result, ports)
        case LearnLexicon():
            one_step.conclude(picture, learn_lexicon.to_result, ports)
        case IngestConversation() | UpdateConversation() | DropConversation():
            one_step.conclude(picture, ingest_conversations.to_result, ports)
        case RecomputeRanks() as request:
            recompute_ranks.conclude(picture, request, ports)
        case RankList():
            one_step.conclude(picture, list_ranks.to_result, ports)
        case FileSearch() as request:
            return files.conclude(picture, request, ports)
        case None:
            pass  # over already: there is nothing to conclude
        case _:
            assert_never(picture.request)
    return []


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
    picture = ports.board.finish(claim, Outcome(state="failed", reason=reason, notes={"dead": dead}))
    return [] if picture is None else conclude(picture, ports)


def fail_unreadable(picture: Picture, ports: Ports, *, past_deadline: bool = False) -> None:
    """End a job whose request nobody here can read: at its deadline, or at once where it has none."""
    if past_deadline or picture.record.deadline is None:
        ports.board.settle(picture.record.job_id, Verdict("failed", reason=picture.unreadable))


def settle_at_deadline(picture: Picture, ports: Ports) -> None:
    """End a job with what is there, because its time is up."""
    match picture.request:
        case ReportSearch() as request:
            reports.settle(picture, request, ports)
        case ModuleSearch() as request:
            modules.settle(picture, request, ports)
        case FileSearch() as request:
            file_results.settle(picture, request, ports)
        case Rerank() as request:
            rerank.settle(picture, request, ports)
        case AnswerQuestion() as request:
            answer_flow.settle(picture, request, ports)
        case (
            MessageSearch()
            | ConversationSearch()
            | RankList()
            | IngestReport()
            | IngestModule()
            | LearnLexicon()
            | IngestSession()
            | ForgetSession()
            | IngestConversation()
            | UpdateConversation()
            | DropConversation()
            | CompareFiles()
            | IngestFiles()
            | EmbedFiles()
            | RecomputeRanks()
            | EmbedTexts()
            | EmbedMessages()
            | ReembedMessages()
            | Reindex()
        ):
            ports.board.settle(picture.record.job_id, Verdict("failed", reason="its deadline passed"))
        case None:
            pass  # over already
        case _:
            assert_never(picture.request)
