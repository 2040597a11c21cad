"""Ingest a code document: index its text, store its modules, and have the lexicon learn from it."""

import hashlib
from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.modules.ingest import IngestModule, IngestModuleResult, ModuleDocument
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.learn import submit_learning
from querymill_workers.retrievers.modules.notes import IngestNotes
from querymill_workers.retrievers.modules.ports import SPACE, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import encode_id
from querymill_workers.retrievers.modules.rules.text import searchable_text
from querymill_workers.words.ports import WordUnit

#: Part of every revision. When it changes, ingesting a stored document again indexes it again.
INDEXING_VERSION = 1


def step(claim: Claim, request: IngestModule, ports: ModulePorts) -> Sequence[Bell]:
    """Ingest one document.

    The same content changes nothing. It still adds the collection and submits the learning of the lexicon, in case
    an earlier attempt was killed before it did.
    """
    document, collection = request.document, request.collection
    notes = IngestNotes(outcome="unchanged", modules=0)
    if ports.modules.revision(collection, document.document) != revision_of(document):
        store_document(collection, document, ports)
        notes = IngestNotes(outcome="ingested", modules=len(set(document.meta_info.vtkjs_modules)))
    ports.board.add_collections("modules", [collection])
    bells = submit_learning(collection, ports)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def store_document(collection: str, document: ModuleDocument, ports: ModulePorts) -> None:
    """Index a document's text, then store the document.

    The text goes first, because a document counts as ingested once it is stored.
    """
    meta = document.meta_info
    text = searchable_text(meta.description, meta.vtkjs_modules, document.code)
    ports.words.put(collection, SPACE, [WordUnit(encode_id(document.document), text)])
    ports.modules.put(collection, [(document, revision_of(document))])


def revision_of(document: ModuleDocument) -> Revision:
    """Hash a document's content together with the way it is indexed."""
    return Revision(hashlib.sha256(f"{INDEXING_VERSION}\n{document.model_dump_json()}".encode()).hexdigest())


def to_result(request: IngestModule, picture: Picture, notes: IngestNotes) -> IngestModuleResult:
    """Return what ingestion did."""
    return IngestModuleResult(
        job_id=picture.record.job_id,
        total=notes.modules,
        complete=True,
        document=request.document.document,
        outcome=notes.outcome,
    )


ENDING: Final = Ending(IngestNotes, to_result)
