"""Every request of `files`, and its result."""

from querymill_shared.contracts.files.ingest import CompareFiles, CompareFilesResult, IngestFiles, IngestFilesResult
from querymill_shared.contracts.files.search import FileResult, FileSearch

FileRequest = FileSearch | CompareFiles | IngestFiles
FileJobResult = FileResult | CompareFilesResult | IngestFilesResult
