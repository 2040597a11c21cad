"""The composition root: the one place that names concrete adapters."""

import time
from functools import cache

from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings
from querymill_workers.domain.tokens import estimate
from querymill_workers.inference import glossary
from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.client import open_client
from querymill_workers.inference.embeddings import OpenAIEmbeddings
from querymill_workers.inference.profiles import EmbeddingProfile, profile_of
from querymill_workers.inference.rewriter import ChatRewriter
from querymill_workers.ports import Ports, Unavailable, WordHit
from querymill_workers.stores.mongo import MongoModules
from querymill_workers.stores.postgres.connection import open_pool
from querymill_workers.stores.postgres.reports import PostgresReports
from querymill_workers.upkeep.heartbeat import Heartbeat


class WordsNotConnected:
    """MERGE POINT: the postings store in PostgreSQL takes this place; until then the text channel is missing."""

    def put(self, *_: object) -> None:
        """Keep nothing."""

    def drop(self, *_: object) -> None:
        """Drop nothing."""

    def search(self, *_: object, **__: object) -> list[WordHit]:
        """Say that there are no words to search."""
        raise Unavailable("words: the postings store is not connected")

    def stale(self, *_: object) -> bool:
        """Nothing is kept, so nothing is out of date."""
        return False


@cache
def settings() -> Settings:
    """Read this process's settings, once."""
    return Settings()


def embedding_profile(chosen: Settings) -> EmbeddingProfile:
    """Look up what the settings' embedding model gives."""
    return profile_of(chosen.embedding_model, dimensions=chosen.querymill_embedding_dimensions)


@cache
def board() -> ValkeyBoard:
    """Open this process's board, once."""
    return ValkeyBoard.connect(settings())


@cache
def ports() -> Ports:
    """Build this process's adapters, once, after it started: no connection crosses a fork."""
    chosen = settings()
    timeout_s = chosen.querymill_embedding_timeout_s
    embedding_client = open_client(*chosen.embedding_endpoint, timeout_s=timeout_s)
    chat_client = open_client(
        chosen.openai_base_url,
        chosen.openai_api_key.get_secret_value(),
        timeout_s=chosen.querymill_chat_timeout_s,
    )
    return Ports(
        board=board(),
        heartbeat=Heartbeat(board(), lease_s=chosen.querymill_lease_s),
        embeddings=OpenAIEmbeddings(embedding_client, embedding_profile(chosen), timeout_s=timeout_s),
        rewriter=ChatRewriter(ChatModel(chat_client, chosen.chat_model, timeout_s=chosen.querymill_chat_timeout_s)),
        reports=PostgresReports(open_pool(chosen.database_url.get_secret_value())),
        modules=MongoModules(chosen.mongodb_uri.get_secret_value()),
        words=WordsNotConnected(),
        shorthands=chosen.querymill_module_shorthands,
        glossary=glossary.bundled(),
        count_tokens=estimate,
        clock=time.monotonic,
        max_attempts=chosen.querymill_max_attempts,
    )
