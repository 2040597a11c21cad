"""The stores of which every retriever has one: its documents and its vectors."""

from collections.abc import Mapping
from dataclasses import replace

from querymill_shared.contracts.vectors import EmbeddedKind
from querymill_shared.meters import Meters
from querymill_workers.dispatch.ports import Ports
from querymill_workers.postgres.connection import Pool
from querymill_workers.postgres.near import NearIndexes
from querymill_workers.retrievers.conversations.stores import postgres_passages as conversations_in_postgres
from querymill_workers.retrievers.conversations.stores.documents import ConversationDocuments
from querymill_workers.retrievers.files.stores import postgres as files_in_postgres
from querymill_workers.retrievers.files.stores.documents import FileDocuments
from querymill_workers.retrievers.messages.stores.documents import SessionDocuments
from querymill_workers.retrievers.modules.stores import postgres_descriptions as modules_in_postgres
from querymill_workers.retrievers.modules.stores.documents import ModuleDocuments
from querymill_workers.retrievers.reports.stores.documents import ReportDocuments
from querymill_workers.vectors.ports import Vectors
from querymill_workers.vectors.postgres import PostgresVectors


def with_documents(ports: Ports) -> Ports:
    """Return ports with the documents of their stores, as lists, exports and deletions see them."""
    return replace(
        ports,
        documents={
            "modules": ModuleDocuments(
                ports.modules, ports.descriptions, ports.vectors["modules"], ports.words, ports.board
            ),
            "files": FileDocuments(ports.files, ports.words, ports.vectors["files"]),
            "messages": SessionDocuments(ports.messages, ports.sessions, ports.words, ports.set_aside),
            "reports": ReportDocuments(ports.report_life, ports.words, ports.set_aside),
            "conversations": ConversationDocuments(
                ports.conversations,
                ports.conversation_passages,
                ports.vectors,
                ports.words,
                ports.ranks,
                ports.board,
                ports.technical_keywords,
            ),
        },
    )


def vectors_in(pool: Pool, counted: Meters, near: NearIndexes | None = None) -> Mapping[EmbeddedKind, Vectors]:
    """Return the vectors of each retriever, in PostgreSQL. ``near`` are the indexes of those of conversations."""
    return {
        "conversations": PostgresVectors(pool, "conversations", conversations_in_postgres.VECTORS, counted, near),
        "files": PostgresVectors(pool, "files", files_in_postgres.VECTORS, counted),
        "modules": PostgresVectors(pool, "modules", modules_in_postgres.VECTORS, counted),
    }
