"""Taking a code document in: its words, its modules, and a lexicon that will know of it."""

import hashlib
from collections.abc import Sequence

from querymill_shared.board import Claim
from querymill_shared.contracts.modules import IngestModule, IngestModuleResult, ModuleDocument
from querymill_workers.domain.module_text import searchable_text
from querymill_workers.flows import one_step
from querymill_workers.flows.learn_lexicon import learn_soon
from querymill_workers.flows.modules import SPACE, encoded
from querymill_workers.flows.one_step import Notes
from querymill_workers.ports import Bell, Ports, Revision, WordUnit

#: Part of every revision: stored documents are indexed anew when it changes.
INDEXING_VERSION = 1


def step(claim: Claim, request: IngestModule, ports: Ports) -> Sequence[Bell]:
    """Ingest one document; the same content again changes nothing.

    Words go first: once the modules are stored the document counts as ingested.
    """
    document, collection = request.document, request.collection
    revision = revision_of(document)
    if ports.modules.revision(collection, document.document) == revision:
        return one_step.hand_in(claim, {"outcome": "unchanged", "modules": 0}, to_result, ports)
    names = document.meta_info.vtkjs_modules
    text = searchable_text(document.meta_info.description, names, document.code)
    ports.words.put(collection, SPACE, [WordUnit(encoded(document.document), text)])
    ports.modules.put(collection, [(document, revision)])
    ports.board.add_collections("modules", [collection])
    bells = learn_soon(collection, ports)
    one_step.hand_in(claim, {"outcome": "ingested", "modules": len(set(names))}, to_result, ports)
    return bells


def revision_of(document: ModuleDocument) -> Revision:
    """Hash the content together with how it is indexed."""
    return Revision(hashlib.sha256(f"{INDEXING_VERSION}\n{document.model_dump_json()}".encode()).hexdigest())


def to_result(request: IngestModule, job_id: str, notes: Notes) -> IngestModuleResult:
    """Say what ingestion did."""
    return IngestModuleResult(
        job_id=job_id,
        total=notes["modules"],
        complete=True,
        document=request.document.document,
        outcome=notes["outcome"],
    )
