"""Load many code documents in one job: each as if it came alone, but many of them in one change."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.loading import LoadedDocument
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.load import LoadModules, LoadModulesResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.loading import Loading, LoadNotes, ending_of, load_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.ledger.ports import version_of
from querymill_workers.retrievers.modules.describe import embed_soon
from querymill_workers.retrievers.modules.ingest import keep_documents
from querymill_workers.retrievers.modules.learn import submit_learning
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.documents import shown_id


def step(claim: Claim, request: LoadModules, ports: ModulePorts) -> Sequence[Bell]:
    """Load documents, then have the lexicon learn from them, and their descriptions embedded."""
    collection, version = request.collection, version_of(claim)

    def store(documents: Sequence[ModuleDocument]) -> list[LoadedDocument]:
        kept = keep_documents(collection, documents, version, ports)
        return [
            LoadedDocument(document=id_of(document), outcome=notes.outcome, total=notes.modules)
            for document, notes in zip(documents, kept, strict=True)
        ]

    loaded = load_slices(claim, request.documents, Loading(id_of, chars_of, store), ports)
    if loaded is None:
        return []
    ports.board.add_collections("modules", [collection])
    bells = [*submit_learning(collection, ports), *embed_soon(claim, request, request.documents, ports)]
    hand_in(claim, request, LoadNotes(documents=tuple(loaded)), ENDING, ports)
    return bells


def id_of(document: ModuleDocument) -> str:
    """Return a document's id as text."""
    return shown_id(document.document)


def chars_of(document: ModuleDocument) -> int:
    """Return the length of a document's texts."""
    return len(document.code) + len(document.meta_info.description)


ENDING: Final = ending_of(LoadModulesResult)
