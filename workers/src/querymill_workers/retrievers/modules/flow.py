"""Choose the flow that serves a request of `modules`."""

from typing import assert_never

from querymill_shared.contracts.modules import ModuleRequest
from querymill_shared.contracts.modules.ingest import IngestModules
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.modules import ingest, learn, search
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.search import show


def flow_of(request: ModuleRequest) -> Flow[ModulePorts]:
    """Return the flow of a request."""
    match request:
        case ModuleSearch():
            return flow(request, search.step, show.conclude, show.settle, reads="the store of code documents")
        case IngestModules():
            return one_step(request, ingest.step, ingest.ENDING)
        case LearnLexicon():
            return one_step(request, learn.step, learn.ENDING)
        case _:
            assert_never(request)
