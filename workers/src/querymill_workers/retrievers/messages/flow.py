"""Which flow serves which request of `messages`."""

from typing import assert_never

from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.messages.grow import GrowSessions
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import EmbedMessages, EmbedSessions, ForgetSession, ReembedMessages
from querymill_shared.contracts.messages.load import LoadSessions
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.messages import embed, forget, grow, hits, ingest, load, reembed, search
from querymill_workers.retrievers.messages.ports import MessagePorts


def flow_of(request: MessageRequest) -> Flow[MessagePorts]:
    """Return the flow of a request."""
    match request:
        case MessageSearch():
            return one_step(request, search.step, hits.ENDING)
        case IngestSession():
            return one_step(request, ingest.step, ingest.ENDING)
        case LoadSessions():
            return one_step(request, load.step, load.ENDING)
        case GrowSessions():
            return one_step(request, grow.step, grow.ENDING)
        case EmbedMessages() | EmbedSessions() | ReembedMessages():
            return embedding_flow_of(request)
        case ForgetSession():
            return one_step(request, forget.step, forget.ENDING)
        case _:
            assert_never(request)


def embedding_flow_of(request: EmbedMessages | EmbedSessions | ReembedMessages) -> Flow[MessagePorts]:
    """Return the flow of a request that makes vectors."""
    match request:
        case EmbedMessages():
            return one_step(request, embed.step, embed.ENDING)
        case EmbedSessions():
            return one_step(request, embed.step_of_many, embed.ENDING_OF_MANY)
        case ReembedMessages():
            return flow(request, reembed.step, reembed.conclude, reads="PostgreSQL")
        case _:
            assert_never(request)
