"""What is known of a code document apart from its code."""

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.documents.ports import Entry
from querymill_workers.retrievers.modules.rules.documents import shown_id
from querymill_workers.retrievers.modules.rules.names import last_segment


def entry_of(document: ModuleDocument) -> Entry:
    """Return what lists tell of a document, and what filters see: its modules, dotted and by their last name."""
    names = document.meta_info.vtkjs_modules
    return Entry(
        shown_id(document.document),
        {"module": tuple(dict.fromkeys([*names, *map(last_segment, names)])), "path": document.file_path},
        document.metadata,
        title=document.file_path,
        size=len(document.code),
        unit="characters",
    )
