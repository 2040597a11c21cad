"""Ingest a code document: its text and its modules in one change. Learning the lexicon and embedding follow."""

import hashlib
from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.modules.ingest import IngestModule, IngestModuleResult, ModuleDocument
from querymill_workers.documents.late_writes import bury_replaced
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.ledger.ports import Standing, Subject, Version, version_of
from querymill_workers.retrievers.modules.describe import embed_soon, passages_of, put_descriptions
from querymill_workers.retrievers.modules.learn import submit_learning
from querymill_workers.retrievers.modules.notes import IngestNotes
from querymill_workers.retrievers.modules.ports import KIND, SPACE, ModulePorts, filterable
from querymill_workers.retrievers.modules.rules.documents import encode_id, shown_id
from querymill_workers.retrievers.modules.rules.fields import counts_of, own_name, searchable_text
from querymill_workers.words.ports import WordUnit

#: Part of every revision. When it changes, ingesting a stored document again indexes it again.
INDEXING_VERSION = 3


def step(claim: Claim, request: IngestModule, ports: ModulePorts) -> Sequence[Bell]:
    """Ingest one document, unless a newer version of it was accepted, or it was dropped since.

    The same content changes nothing. It still settles the document, adds the collection, and submits the learning of
    the lexicon and the embedding of descriptions, in case an earlier attempt was killed before it did.
    """
    collection = request.collection
    notes = keep_document(collection, request.document, version_of(claim), ports)
    ports.board.add_collections("modules", [collection])
    bells = [*submit_learning(collection, ports), *embed_soon(claim, request, [request.document], ports)]
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def keep_document(collection: str, document: ModuleDocument, version: Version, ports: ModulePorts) -> IngestNotes:
    """Store a document and its text in one change, if this version is to stand, and settle it."""
    (notes,) = keep_documents(collection, [document], version, ports)
    return notes


def keep_documents(
    collection: str, documents: Sequence[ModuleDocument], version: Version, ports: ModulePorts
) -> list[IngestNotes]:
    """Store documents and their texts in one change, as far as this version is to stand, and settle them."""
    subjects = [subject_of(document) for document in documents]
    with ports.ledger.changing(collection, KIND, subjects, version) as standings:
        bury_replaced(collection, KIND, standings, ports)
        notes = [
            notes_of(collection, document, standings[subject.document], ports)
            for document, subject in zip(documents, subjects, strict=True)
        ]
        new = [document for document, noted in zip(documents, notes, strict=True) if noted.outcome == "ingested"]
        store_documents(collection, new, version, ports)
    ports.modules.settle(collection, [document.document for document in documents])
    return notes


def notes_of(collection: str, document: ModuleDocument, standing: Standing, ports: ModulePorts) -> IngestNotes:
    """Say what is to become of a document."""
    if not standing.newest:
        return IngestNotes(outcome="forgotten" if standing.forgotten else "superseded", modules=0)
    if ports.modules.revision(collection, document.document) == revision_of(document, ports):
        return IngestNotes(outcome="unchanged", modules=0)
    return IngestNotes(outcome="ingested", modules=len(set(document.meta_info.vtkjs_modules)))


def store_documents(collection: str, documents: Sequence[ModuleDocument], version: Version, ports: ModulePorts) -> None:
    """Store documents, and last their texts: the text index lets one writer at a time count its words."""
    if documents:
        rows = [(document, revision_of(document, ports)) for document in documents]
        ports.modules.put(collection, rows, record=record_of(version))
        put_descriptions(collection, documents, ports)
        ports.words.put(collection, SPACE, [unit_of(document) for document in documents])


def unit_of(document: ModuleDocument) -> WordUnit:
    """Return the entry of the text index by which a document is found."""
    meta = document.meta_info
    text = searchable_text(meta.description, meta.vtkjs_modules, document.code)
    name = own_name(document.file_path, document.metadata.get("title"))
    return WordUnit(encode_id(document.document), text, "", counts_of(text, name=name, modules=meta.vtkjs_modules))


def subject_of(document: ModuleDocument) -> Subject:
    """Return what the ledger knows of a document."""
    seen = filterable(document)
    return Subject(shown_id(document.document), seen.fields, seen.metadata)


def record_of(version: Version) -> str:
    """Return the name of the record that a write makes."""
    return f"{version.accepted_us} {version.job_id}"


def revision_of(document: ModuleDocument, ports: ModulePorts) -> Revision:
    """Hash a document's content together with the way it is indexed, and cut into passages for the model."""
    passages = "\0".join(passages_of(document.meta_info.description, ports))
    return Revision(
        hashlib.sha256(f"{INDEXING_VERSION}\n{document.model_dump_json()}\n{passages}".encode()).hexdigest()
    )


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
