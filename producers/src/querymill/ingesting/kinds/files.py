"""How files are read from JSON lines as they come, and how files that are read are joined into jobs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from querymill.code_bases.notebooks import by_cells
from querymill.code_bases.reading import secret_reason
from querymill.ingesting.jsonl import GoodLine, Lines, Packing
from querymill.ingesting.loadable import Loadable
from querymill.ingesting.packing import Limits, Packer
from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile

#: Files, and characters of their contents, that are sent in one job: some seconds of work.
BATCH: Final = Limits(64, 300_000)


def batched(files: Iterable[SourceFile], collection: str, *, vectors: bool = False) -> Iterator[GoodLine[IngestFiles]]:
    """Join files into jobs, which ask for ``vectors`` or do not."""
    packer = Packer(BATCH, size_of=_characters)
    for number, held in enumerate(packer.cut(files), start=1):
        yield _batch(number, held, collection, vectors=vectors)


def _characters(file: SourceFile) -> int:
    return len(file.content)


def document_of(request: IngestFiles) -> str:
    """Name the files of a job by the first of them."""
    first, *others = (file.path for file in request.files)
    return f"{first} and {len(others)} more" if others else first


def _batch(number: int, files: Sequence[SourceFile], collection: str, *, vectors: bool) -> GoodLine[IngestFiles]:
    size = sum(len(file.content.encode()) for file in files)
    request = IngestFiles(collection=collection, files=tuple(files), vectors=vectors)
    return GoodLine(number, size, request, unit="batch", document=document_of(request))


def secret_of(request: IngestFiles) -> str:
    """Return why a file counts as a secret, or ""."""
    return next((reason for file in request.files if (reason := secret_reason(file.path, file.content))), "")


LINES: Final = Lines(
    IngestFiles,
    "files",
    document_of=document_of,
    counted="chunks",
    packing=Packing(IngestFiles, many="files", one="files", shared=("vectors",)),
    in_list=True,
    prepare=by_cells,
    refuse=secret_of,
)

KIND: Final = Loadable("files", LINES, reads_code_bases=True)
