"""The composition root: the one place that names concrete adapters."""

import time
from functools import cache

from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings
from querymill_workers.domain.tokens import estimate
from querymill_workers.inference import glossary
from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.chat_judge import ChatJudge
from querymill_workers.inference.client import open_client
from querymill_workers.inference.embeddings import OpenAIEmbeddings
from querymill_workers.inference.http_judge import HttpJudge, open_endpoint
from querymill_workers.inference.profiles import EmbeddingProfile, profile_of
from querymill_workers.inference.rewriter import ChatRewriter
from querymill_workers.ports import Judge, Ports
from querymill_workers.stores.postgres.connection import open_pool
from querymill_workers.stores.postgres.reports import PostgresReports
from querymill_workers.upkeep.heartbeat import Heartbeat


@cache
def settings() -> Settings:
    """Read this process's settings, once."""
    return Settings()


def embedding_profile(chosen: Settings) -> EmbeddingProfile:
    """Look up what the settings' embedding model gives."""
    return profile_of(chosen.embedding_model, dimensions=chosen.querymill_embedding_dimensions)


def judge_of(chosen: Settings, chat: ChatModel) -> Judge:
    """Choose the judge of relevance: the rerank endpoint if the settings name one, else the chat model."""
    tokens = chosen.querymill_rerank_tokens
    if not chosen.rerank_base_url:
        return ChatJudge(chat, passage_tokens=tokens)
    return HttpJudge(
        open_endpoint(chosen.rerank_api_key.get_secret_value()),
        chosen.rerank_base_url,
        model=chosen.rerank_model,
        shape=chosen.querymill_rerank_shape,
        timeout_s=chosen.querymill_rerank_timeout_s,
        passage_tokens=tokens,
    )


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
    chat = ChatModel(chat_client, chosen.chat_model, timeout_s=chosen.querymill_chat_timeout_s)
    return Ports(
        board=board(),
        heartbeat=Heartbeat(board(), lease_s=chosen.querymill_lease_s),
        embeddings=OpenAIEmbeddings(embedding_client, embedding_profile(chosen), timeout_s=timeout_s),
        rewriter=ChatRewriter(chat),
        judge=judge_of(chosen, chat),
        reports=PostgresReports(open_pool(chosen.database_url.get_secret_value())),
        glossary=glossary.bundled(),
        count_tokens=estimate,
        clock=time.monotonic,
        max_attempts=chosen.querymill_max_attempts,
    )
