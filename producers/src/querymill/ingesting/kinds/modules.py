"""How code documents are read from JSON lines."""

from typing import Final

from querymill.ingesting.jsonl import Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.modules.ingest import IngestModules, ModuleDocument

LINES: Final = Lines(IngestModules, ModuleDocument, counted="modules")

KIND: Final = Loadable("modules", LINES)
