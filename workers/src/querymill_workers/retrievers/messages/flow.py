"""Which flow serves which request of `messages`."""

from typing import assert_never

from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.messages import extend, ingest, search
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.search import show


def flow_of(request: MessageRequest) -> Flow[MessagePorts]:
    """Return the flow of a request."""
    match request:
        case MessageSearch():
            return one_step(request, search.step, show.ENDING)
        case IngestMessages():
            return one_step(request, ingest.step, ingest.ENDING)
        case Extend():
            return one_step(request, extend.step, extend.ENDING)
        case _:
            assert_never(request)
