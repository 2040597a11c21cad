"""How files are joined into jobs.

The command reads their JSON lines by `code_base.JsonLines`, which compares them with what is stored first. `LINES`
reads them as they come.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from querymill.code_bases.notebooks import MAX_NOTEBOOK_BYTES, SUFFIX, NotANotebook, source_of
from querymill.code_bases.reading import secret_reason
from querymill.ingesting.jsonl import GoodLine, Lines, Packing
from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile

#: Files, and characters of their contents, that are sent in one job: some seconds of work.
BATCH_FILES, BATCH_CHARACTERS = 64, 300_000


def batched(files: Iterable[SourceFile], collection: str, *, vectors: bool = False) -> Iterator[GoodLine[IngestFiles]]:
    """Join files into jobs, which ask for ``vectors`` or do not."""
    held: list[SourceFile] = []
    number = 0
    for file in files:
        full = sum(len(other.content) for other in held) + len(file.content) > BATCH_CHARACTERS
        if held and (full or len(held) == BATCH_FILES):
            number += 1
            yield _batch(number, held, collection, vectors=vectors)
            held = []
        held.append(file)
    if held:
        yield _batch(number + 1, held, collection, vectors=vectors)


def document_of(request: IngestFiles) -> str:
    """Name the files of a job by the first of them."""
    first, *others = (file.path for file in request.files)
    return f"{first} and {len(others)} more" if others else first


def _batch(number: int, files: Sequence[SourceFile], collection: str, *, vectors: bool) -> GoodLine[IngestFiles]:
    size = sum(len(file.content.encode()) for file in files)
    request = IngestFiles(collection=collection, files=tuple(files), vectors=vectors)
    return GoodLine(number, size, request, unit="batch", document=document_of(request))


def by_cells(document: Any) -> Any:
    """Return a file of JSON lines with the cells of a notebook as its content; what is no notebook stays as it is.

    A file that was exported holds cells already.
    """
    path, content = (document.get("path"), document.get("content")) if isinstance(document, dict) else (None, None)
    if not (isinstance(path, str) and path.endswith(SUFFIX) and isinstance(content, str)):
        return document
    if len(content) <= MAX_NOTEBOOK_BYTES:
        with suppress(NotANotebook):
            return {**document, "content": source_of(content)}
    return document


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
