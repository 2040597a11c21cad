"""Which flow serves which request of `messages`."""

from typing import assert_never

from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import EmbedMessages, ForgetSession, ReembedMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.untyped import concluding
from querymill_workers.retrievers.messages import embed, forget, ingest, reembed, search


def flow_of(request: MessageRequest) -> Flow[Ports]:
    """Choose the flow of a request."""
    match request:
        case MessageSearch():
            return flow(request, search.step, search.conclude)
        case IngestSession():
            return flow(request, ingest.step, concluding(ingest.to_result))
        case EmbedMessages():
            return flow(request, embed.step, concluding(embed.to_result))
        case ReembedMessages():
            return flow(request, reembed.step, reembed.conclude)
        case ForgetSession():
            return flow(request, forget.step, concluding(forget.to_result))
        case _:
            assert_never(request)
