"""Ingest code documents: their texts and their modules in one change. Learning the lexicon and embedding follow."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_shared.contracts.modules.ingest import IngestModules, IngestModulesResult, ModuleDocument
from querymill_workers.documents.late_writes import drop_barred
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.ingesting import IngestNotes, ending_of, ingest_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.describe import embed_soon, passages_of, put_descriptions
from querymill_workers.retrievers.modules.entry import entry_of
from querymill_workers.retrievers.modules.learn import submit_learning
from querymill_workers.retrievers.modules.ports import KIND, SPACE, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import encode_id, read_id, shown_id
from querymill_workers.retrievers.modules.rules.fields import counts_of, own_name, searchable_text
from querymill_workers.versions.ports import Standing, Version, version_of
from querymill_workers.words.ports import WordUnit

#: Part of every revision. When it changes, ingesting a stored document again indexes it again.
INDEXING_VERSION = 3


def step(claim: Claim, request: IngestModules, ports: ModulePorts) -> Sequence[Bell]:
    """Ingest documents, as far as no newer version of them was accepted, nor they were dropped since.

    The same content changes nothing. It still settles the document, adds the collection, and submits the learning of
    the lexicon and the embedding of descriptions, in case an earlier attempt was killed before it did.
    """
    collection, version = request.collection, version_of(claim)

    def store(documents: Sequence[ModuleDocument]) -> list[IngestedDocument]:
        return keep_documents(collection, documents, version, ports)

    ingested = ingest_slices(claim, request.documents, store, ports)
    if ingested is None:
        return []
    ports.board.add_collections("modules", [collection])
    learning = submit_learning(collection, ports)
    jobs, bells = embed_soon(claim, request, ports)
    hand_in(claim, request, IngestNotes(documents=tuple(ingested), embedding_jobs=tuple(jobs)), ENDING, ports)
    return [*learning, *one_per_queue(bells)]


def keep_documents(
    collection: str, documents: Sequence[ModuleDocument], version: Version, ports: ModulePorts
) -> list[IngestedDocument]:
    """Store documents and their texts in one change, as far as this version is to stand, and settle them."""
    entries = [entry_of(document) for document in documents]
    with ports.versions.changing(collection, KIND, entries, version) as standings:
        drop_barred(collection, KIND, standings, ports)
        kept = [
            outcome_of(collection, document, standings[entry.document], ports)
            for document, entry in zip(documents, entries, strict=True)
        ]
        new = [document for document, said in zip(documents, kept, strict=True) if said.outcome == "ingested"]
        store_documents(collection, new, version, ports)
    ports.modules.settle(collection, [document.document for document in documents])
    return kept


def outcome_of(collection: str, document: ModuleDocument, standing: Standing, ports: ModulePorts) -> IngestedDocument:
    """Say what is to become of a document."""
    id_ = document.document_id
    if not standing.newest:
        return IngestedDocument(document=id_, outcome="forgotten" if standing.forgotten else "superseded")
    if revision_of(document, ports) == ports.documents[KIND].revisions(collection, [id_]).get(id_):
        return IngestedDocument(document=id_, outcome="unchanged")
    return IngestedDocument(document=id_, outcome="ingested", total=len(set(document.meta_info.vtkjs_modules)))


def store_documents(collection: str, documents: Sequence[ModuleDocument], version: Version, ports: ModulePorts) -> None:
    """Store documents, and last their texts: the text index lets one writer at a time count its words."""
    if documents:
        rows = [(document, revision_of(document, ports)) for document in documents]
        ports.modules.put(collection, rows, record=record_of(version))
        put_descriptions(collection, documents, ports)
        ports.words.put(collection, SPACE, [unit_of(document) for document in documents])
        ports.documents[KIND].put(collection, [(entry_of(document), revision) for document, revision in rows])


def indexed_modules(collection: str, ids: Sequence[str], ports: ModulePorts) -> Mapping[str, Mapping[str, float]]:
    """Count the indexed words of documents, by id: vectors are made of their descriptions alone."""
    documents = ports.modules.documents(collection, [read_id(id_) for id_ in ids])
    return {shown_id(key): unit_of(document).counts or {} for key, document in documents.items()}


def unit_of(document: ModuleDocument) -> WordUnit:
    """Return the entry of the text index by which a document is found."""
    meta = document.meta_info
    text = searchable_text(meta.description, meta.vtkjs_modules, document.code)
    name = own_name(document.file_path, document.metadata.get("title"))
    return WordUnit(encode_id(document.document), text, "", counts_of(text, name=name, modules=meta.vtkjs_modules))


def record_of(version: Version) -> str:
    """Return the name of the record that a write makes."""
    return f"{version.accepted_us} {version.job_id}"


def revision_of(document: ModuleDocument, ports: ModulePorts) -> Revision:
    """Hash a document's content together with the way it is indexed, and cut into passages for the model."""
    passages = "\0".join(passages_of(document.meta_info.description, ports))
    return Revision(
        hashlib.sha256(f"{INDEXING_VERSION}\n{document.model_dump_json()}\n{passages}".encode()).hexdigest()
    )


ENDING: Final = ending_of(IngestModulesResult)
