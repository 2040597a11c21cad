"""How files are read from JSON lines as they come."""

from collections.abc import Iterable, Iterator
from typing import Final

from querymill.code_bases.notebooks import by_cells
from querymill.code_bases.reading import secret_reason
from querymill.ingesting.jsonl import GoodLine, Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile


def lines_of(files: Iterable[SourceFile]) -> Iterator[GoodLine[SourceFile]]:
    """Number files that are read already."""
    for number, file in enumerate(files, start=1):
        yield GoodLine(number, len(file.content.encode()), file, unit="file")


def secret_of(file: SourceFile) -> str:
    """Return why a file counts as a secret, or ""."""
    return secret_reason(file.path, file.content)


LINES: Final = Lines(IngestFiles, SourceFile, counted="chunks", prepare=by_cells, refuse=secret_of)

KIND: Final = Loadable("files", LINES, reads_code_bases=True)
