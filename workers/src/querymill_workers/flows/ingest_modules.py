"""Taking a code document in: its words, its modules, and a lexicon that will know of it."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.modules import IngestModule, IngestModuleResult, ModuleDocument
from querymill_workers.domain.module_text import searchable_text
from querymill_workers.flows.learn_lexicon import learn_soon
from querymill_workers.flows.modules import SPACE, encoded
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
        return handed_in(claim, {"outcome": "unchanged", "modules": 0}, ports)
    names = document.meta_info.vtkjs_modules
    text = searchable_text(document.meta_info.description, names, document.code)
    ports.words.put(collection, SPACE, [WordUnit(encoded(document.document), text)])
    ports.modules.put(collection, [(document, revision)])
    ports.board.add_collections("modules", [collection])
    bells = learn_soon(collection, ports)
    handed_in(claim, {"outcome": "ingested", "modules": len(set(names))}, ports)
    return bells


def revision_of(document: ModuleDocument) -> Revision:
    """Hash the content together with how it is indexed."""
    return Revision(hashlib.sha256(f"{INDEXING_VERSION}\n{document.model_dump_json()}".encode()).hexdigest())


def handed_in(claim: Claim, notes: Mapping[str, Any], ports: Ports) -> Sequence[Bell]:
    """Close the step on the board and settle the job."""
    picture = ports.board.finish(claim, Outcome(notes=notes))
    if picture is not None and isinstance(picture.request, IngestModule):
        conclude(picture, picture.request, ports)
    return []


def conclude(picture: Picture, request: IngestModule, ports: Ports) -> None:
    """Settle: the document is in, or the job fails with its reason."""
    (ingest,) = picture.steps
    if not ingest.is_closed:
        return
    if ingest.state == "failed":
        verdict = Verdict("dead" if ingest.notes.get("dead") else "failed", reason=ingest.reason)
    else:
        result = IngestModuleResult(
            job_id=picture.record.job_id,
            total=ingest.notes["modules"],
            complete=True,
            document=request.document.document,
            outcome=ingest.notes["outcome"],
        )
        verdict = Verdict("done", result=result.model_dump_json())
    ports.board.settle(picture.record.job_id, verdict)
