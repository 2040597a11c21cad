"""Which flow serves which request about documents."""

from typing import assert_never

from querymill_shared.contracts.documents import (
    DocumentRequest,
    DropDocuments,
    ExportDocuments,
    ListDocuments,
    ShowDocument,
)
from querymill_workers.documents import drop, reading
from querymill_workers.documents.ports import DocumentPorts
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.one_step import one_step


def flow_of(request: DocumentRequest) -> Flow[DocumentPorts]:
    """Return the flow of a request."""
    match request:
        case ListDocuments():
            return one_step(request, reading.list_page, reading.LIST)
        case ExportDocuments():
            return one_step(request, reading.export_page, reading.PAGE)
        case ShowDocument():
            return one_step(request, reading.show, reading.SHOWN)
        case DropDocuments():
            return one_step(request, drop.step, drop.ENDING)
        case _:
            assert_never(request)
