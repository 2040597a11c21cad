"""The stores of which every retriever has one, its documents and its vectors, and where those of modules are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from querymill_shared.contracts.filters import RESERVED, Retriever
from querymill_shared.counters import FleetCounters
from querymill_workers.dispatch.ports import Ports
from querymill_workers.documents.memory import MemoryDocuments
from querymill_workers.documents.ports import Body, Documents
from querymill_workers.documents.store import PostgresDocuments
from querymill_workers.postgres.connection import Pool
from querymill_workers.postgres.vector_index import VectorIndexes
from querymill_workers.retrievers.conversations.body import ConversationBody
from querymill_workers.retrievers.conversations.stores import postgres_passages as conversations_in_postgres
from querymill_workers.retrievers.files.body import FileBody
from querymill_workers.retrievers.files.stores import postgres as files_in_postgres
from querymill_workers.retrievers.messages.body import SessionBody
from querymill_workers.retrievers.messages.stores import postgres as messages_in_postgres
from querymill_workers.retrievers.modules.body import ModuleBody
from querymill_workers.retrievers.modules.ports import Modules
from querymill_workers.retrievers.modules.stores import postgres_descriptions as modules_in_postgres
from querymill_workers.retrievers.modules.stores.mongo import MongoModules
from querymill_workers.retrievers.modules.stores.postgres import PostgresModules
from querymill_workers.retrievers.modules.stores.postgres_register import PostgresRegister
from querymill_workers.retrievers.reports.body import ReportBody
from querymill_workers.retrievers.reports.stores import postgres as reports_in_postgres
from querymill_workers.vectors.ports import Vectors
from querymill_workers.vectors.postgres import PostgresVectors, VectorTables


def with_bodies(ports: Ports) -> Ports:
    """Return ports with the bodies of documents, in their stores."""
    vectors, words, documents = ports.vectors, ports.words, ports.documents
    bodies: Mapping[Retriever, Body] = {
        "conversations": ConversationBody(
            ports.conversations, ports.conversation_passages, vectors, words, ports.ranks, ports.board,
            ports.technical_keywords, documents,
        ),
        "files": FileBody(ports.files, words, vectors, documents),
        "messages": SessionBody(ports.sessions, words, vectors, documents),
        "modules": ModuleBody(ports.modules, ports.descriptions, words, vectors, documents, ports.board),
        "reports": ReportBody(ports.report_life, words, vectors, documents),
    }  # fmt: skip
    return replace(ports, bodies=bodies)


def documents_in(pool: Pool) -> Mapping[Retriever, Documents]:
    """Return what is known of the documents of each retriever, in PostgreSQL."""
    return {retriever: PostgresDocuments(pool, retriever) for retriever in RESERVED}


def documents_in_memory() -> Mapping[Retriever, Documents]:
    """Return what is known of the documents of each retriever, in memory."""
    return {retriever: MemoryDocuments(retriever) for retriever in RESERVED}


#: The tables of the passages and vectors of each retriever.
TABLES: Final[Mapping[Retriever, VectorTables]] = {
    "conversations": conversations_in_postgres.VECTORS,
    "files": files_in_postgres.VECTORS,
    "messages": messages_in_postgres.VECTORS,
    "modules": modules_in_postgres.VECTORS,
    "reports": reports_in_postgres.VECTORS,
}
#: The retrievers that search large collections by an vector index.
INDEXED: Final[Sequence[Retriever]] = ("conversations", "messages")


def vector_indexes_in(pool: Pool) -> Mapping[Retriever, VectorIndexes]:
    """Return the vector indexes of each retriever that has any."""
    return {kind: VectorIndexes(pool, TABLES[kind].vectors) for kind in INDEXED}


def vectors_in(
    pool: Pool, counted: FleetCounters, near: Mapping[Retriever, VectorIndexes] | None = None
) -> Mapping[Retriever, Vectors]:
    """Return the vectors of each retriever, in PostgreSQL. ``near`` are what searches know of their indexes."""
    indexes = vector_indexes_in(pool) if near is None else near
    return {kind: PostgresVectors(pool, kind, tables, counted, indexes.get(kind)) for kind, tables in TABLES.items()}


def modules_in(mongodb_uri: str, pool: Pool) -> Modules:
    """Return the code documents: in the MongoDB that a URI names, or without one in PostgreSQL."""
    return MongoModules(mongodb_uri, PostgresRegister(pool)) if mongodb_uri else PostgresModules(pool)
