"""How code documents are read from JSON lines."""

from typing import Final

from querymill.ingesting.jsonl import Lines, Packing
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.modules.ingest import IngestModule
from querymill_shared.contracts.modules.load import LoadModules

LINES: Final = Lines(
    IngestModule,
    "document",
    document_of=lambda asked: str(asked.document.document),
    counted="modules",
    packing=Packing(LoadModules, many="documents", one="document"),
)

KIND: Final = Loadable("modules", LINES)
