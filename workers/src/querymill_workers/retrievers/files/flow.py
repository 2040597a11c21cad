"""The flow of each request of `files`."""

from typing import assert_never

from querymill_shared.contracts.files import FileRequest
from querymill_shared.contracts.files.ingest import CompareFiles, IngestFiles
from querymill_shared.contracts.files.search import FileSearch
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.files import compare, ingest, search
from querymill_workers.retrievers.files.ports import FilePorts


def flow_of(request: FileRequest) -> Flow[FilePorts]:
    """Return the flow of a request."""
    match request:
        case FileSearch():
            return flow(request, search.step, search.conclude, search.settle_late, reads="PostgreSQL")
        case CompareFiles():
            return one_step(request, compare.step, compare.ENDING)
        case IngestFiles():
            return one_step(request, ingest.step, ingest.ENDING)
        case _:
            assert_never(request)
