"""Every request of `files`, and its result."""

from querymill_shared.contracts.files.ingest import (
    CompareFiles,
    CompareFilesResult,
    EmbedFiles,
    EmbedFilesResult,
    IngestFiles,
    IngestFilesResult,
)
from querymill_shared.contracts.files.reembed import ReembedFiles, ReembedFilesResult
from querymill_shared.contracts.files.search import FileResult, FileSearch

FileRequest = FileSearch | CompareFiles | IngestFiles | EmbedFiles | ReembedFiles
FileJobResult = FileResult | CompareFilesResult | IngestFilesResult | EmbedFilesResult | ReembedFilesResult
