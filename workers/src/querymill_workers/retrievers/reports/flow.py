"""The flow of each request of `reports`."""

from typing import assert_never

from querymill_shared.contracts.reports import ReportRequest
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.reports import ingest, search
from querymill_workers.retrievers.reports.ports import ReportPorts


def flow_of(request: ReportRequest) -> Flow[ReportPorts]:
    """Return the flow of a request."""
    match request:
        case ReportSearch():
            return flow(request, search.step, search.conclude, search.settle, reads="PostgreSQL")
        case IngestReports():
            return one_step(request, ingest.step, ingest.ENDING)
        case _:
            assert_never(request)
