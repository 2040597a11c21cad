"""Which flow serves which request of `conversations`."""

from typing import assert_never

from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.ingest import Extend
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.conversations import search
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ranks import listing, recompute
from querymill_workers.retrievers.conversations.write import extend, ingest


def flow_of(request: ConversationRequest) -> Flow[ConversationPorts]:
    """Return the flow that serves a request."""
    match request:
        case ConversationSearch():
            return flow(request, search.step, search.conclude)
        case RecomputeRanks():
            return flow(request, recompute.step, recompute.conclude)
        case RankList():
            return one_step(request, listing.step, listing.ENDING)
        case IngestConversations():
            return one_step(request, ingest.step, ingest.ENDING)
        case Extend():
            return one_step(request, extend.step, extend.ENDING)
        case _:
            assert_never(request)
