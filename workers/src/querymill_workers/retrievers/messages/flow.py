"""Which flow serves which request of `messages`."""

from typing import assert_never

from querymill_shared.contracts.messages import MessageRequest
from querymill_shared.contracts.messages.grow import GrowSessions
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import ForgetSession
from querymill_shared.contracts.messages.load import LoadSessions
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.messages import forget, grow, ingest, load, search
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.search import show


def flow_of(request: MessageRequest) -> Flow[MessagePorts]:
    """Return the flow of a request."""
    match request:
        case MessageSearch():
            return one_step(request, search.step, show.ENDING)
        case IngestSession():
            return one_step(request, ingest.step, ingest.ENDING)
        case LoadSessions():
            return one_step(request, load.step, load.ENDING)
        case GrowSessions():
            return one_step(request, grow.step, grow.ENDING)
        case ForgetSession():
            return one_step(request, forget.step, forget.ENDING)
        case _:
            assert_never(request)
