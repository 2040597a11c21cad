"""The stores of which every retriever has one, its documents and its vectors, and where those of modules are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from querymill_shared.contracts.filters import Retriever
from querymill_shared.counters import Meters
from querymill_workers.dispatch.ports import Ports
from querymill_workers.postgres.connection import Pool
from querymill_workers.postgres.vector_index import NearIndexes
from querymill_workers.retrievers.conversations.stores import postgres_passages as conversations_in_postgres
from querymill_workers.retrievers.conversations.stores.documents import ConversationDocuments
from querymill_workers.retrievers.files.stores import postgres as files_in_postgres
from querymill_workers.retrievers.files.stores.documents import FileDocuments
from querymill_workers.retrievers.messages.stores import postgres as messages_in_postgres
from querymill_workers.retrievers.messages.stores.documents import SessionDocuments
from querymill_workers.retrievers.modules.ports import Modules
from querymill_workers.retrievers.modules.stores import postgres_descriptions as modules_in_postgres
from querymill_workers.retrievers.modules.stores.documents import ModuleDocuments
from querymill_workers.retrievers.modules.stores.mongo import MongoModules
from querymill_workers.retrievers.modules.stores.postgres import PostgresModules
from querymill_workers.retrievers.modules.stores.postgres_register import PostgresRegister
from querymill_workers.retrievers.reports.stores import postgres as reports_in_postgres
from querymill_workers.retrievers.reports.stores.documents import ReportDocuments
from querymill_workers.vectors.ports import Vectors
from querymill_workers.vectors.postgres import PostgresVectors, VectorTables


def with_documents(ports: Ports) -> Ports:
    """Return ports with the documents of their stores, as lists, exports and deletions see them."""
    return replace(
        ports,
        documents={
            "modules": ModuleDocuments(
                ports.modules, ports.descriptions, ports.vectors["modules"], ports.words, ports.board
            ),
            "files": FileDocuments(ports.files, ports.words, ports.vectors["files"]),
            "messages": SessionDocuments(ports.sessions, ports.vectors, ports.words),
            "reports": ReportDocuments(ports.report_life, ports.words, ports.vectors["reports"]),
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


#: The tables of the passages and vectors of each retriever.
TABLES: Final[Mapping[Retriever, VectorTables]] = {
    "conversations": conversations_in_postgres.VECTORS,
    "files": files_in_postgres.VECTORS,
    "messages": messages_in_postgres.VECTORS,
    "modules": modules_in_postgres.VECTORS,
    "reports": reports_in_postgres.VECTORS,
}
#: The retrievers that search large collections by an index of near vectors.
INDEXED: Final[Sequence[Retriever]] = ("conversations", "messages")


def near_in(pool: Pool) -> Mapping[Retriever, NearIndexes]:
    """Return the indexes of near vectors of each retriever that has any."""
    return {kind: NearIndexes(pool, TABLES[kind].vectors) for kind in INDEXED}


def vectors_in(
    pool: Pool, counted: Meters, near: Mapping[Retriever, NearIndexes] | None = None
) -> Mapping[Retriever, Vectors]:
    """Return the vectors of each retriever, in PostgreSQL. ``near`` are what searches know of their indexes."""
    indexes = near_in(pool) if near is None else near
    return {kind: PostgresVectors(pool, kind, tables, counted, indexes.get(kind)) for kind, tables in TABLES.items()}


def modules_in(mongodb_uri: str, pool: Pool) -> Modules:
    """Return the code documents: in the MongoDB that a URI names, or without one in PostgreSQL."""
    return MongoModules(mongodb_uri, PostgresRegister(pool)) if mongodb_uri else PostgresModules(pool)
