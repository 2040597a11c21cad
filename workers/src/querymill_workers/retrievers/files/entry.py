"""What is known of a file apart from its text."""

from querymill_shared.contracts.files.ingest import SourceFile
from querymill_workers.documents.ports import Entry
from querymill_workers.retrievers.files.rules.languages import language_of


def entry_of(file: SourceFile) -> Entry:
    """Return what lists tell of a file, and what filters see: its path, its language and its metadata."""
    return Entry(
        file.path,
        {"path": file.path, "language": language_of(file.path, file.content) or None},
        file.model_extra or {},
        size=len(file.content.encode()),
        unit="bytes",
    )
