"""Jobs for the vectors that a restored database lacks: those that were to make them may be later than the backup."""

from contextlib import closing

from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.vectors import EmbedDocuments
from querymill_shared.counters import FleetCounters
from querymill_shared.settings import Settings
from querymill_workers.dispatch.embedding import target_of
from querymill_workers.postgres.connection import open_pool
from querymill_workers.stores import documents_in, vectors_in
from querymill_workers.vectors.embedding import parts_of


def submit_embedding(settings: Settings) -> int:
    """Submit jobs for all documents with a passage without a vector. Return how many documents these are."""
    submitted = 0
    with (
        open_pool(settings.database_url.get_secret_value(), max_size=2) as pool,
        closing(ValkeyBoard.connect(settings)) as board,
    ):
        documents = documents_in(pool)
        for kind, vectors in vectors_in(pool, FleetCounters(None)).items():
            for collection in documents[kind].collections():
                model = vectors.active_model(collection)
                if model is None and target_of(kind).unasked is not None:
                    continue
                lacking = vectors.lacking(collection, model=model or settings.embedding_model)
                for part in parts_of(lacking):
                    board.submit(_request(kind, collection, part))
                submitted += len(lacking)
    return submitted


def _request(kind: Retriever, collection: str, documents: tuple[str, ...]) -> EmbedDocuments:
    return EmbedDocuments(collection=collection, retriever=kind, documents=documents, lane=Lane.BULK)
