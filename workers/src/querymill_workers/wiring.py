"""The composition root: the only module that chooses concrete adapters."""

import os
import socket
import time
from functools import cache

import redis

from querymill_shared.board import Board, ValkeyBoard
from querymill_shared.board.connections import open_commands
from querymill_shared.counters import FleetCounters
from querymill_shared.settings import Settings
from querymill_shared.shorthands import MODULE_SHORTHANDS
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.inference.account import Account
from querymill_workers.inference.answers import ChatAnswers
from querymill_workers.inference.calibrations import calibration_of
from querymill_workers.inference.capabilities import Capabilities
from querymill_workers.inference.chat import ChatModel, OpenAIChat
from querymill_workers.inference.chat_judge import ChatJudge
from querymill_workers.inference.client import open_client
from querymill_workers.inference.embeddings import OpenAIEndpoint, SharedEmbeddings
from querymill_workers.inference.fleet_cache import FleetCache, FleetCaches, NoFleetCaches, open_cache
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.http_judge import HttpJudge, RerankEndpoint, open_endpoint
from querymill_workers.inference.ledger import Ledger, Tariff
from querymill_workers.inference.memory import WordAnswers, WordEmbeddings, WordJudge, WordRewriter
from querymill_workers.inference.ports import Judge, PreviousModel
from querymill_workers.inference.profiles import EmbeddingProfile, profile_of
from querymill_workers.inference.rankings import RelevanceByIndex
from querymill_workers.inference.refusals import HalvingJudge
from querymill_workers.inference.rewriter import ChatRewriter
from querymill_workers.jobs.heartbeat import HeartbeatThread, NoHeartbeat
from querymill_workers.jobs.log_lines import log_end
from querymill_workers.lexicon import thesauri
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.planner_statistics import NoSamples, PostgresSamples
from querymill_workers.retrievers.conversations.rules.technical_keywords import TECHNICAL_KEYWORDS, TechnicalKeywords
from querymill_workers.retrievers.conversations.stores.caches import conversation_caches
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations
from querymill_workers.retrievers.conversations.stores.memory_passages import MemoryPassages
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_passages import PostgresPassages
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from querymill_workers.retrievers.files.profiles import file_profiles
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.files.stores.postgres import PostgresFiles
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.modules.stores.memory_descriptions import MemoryDescriptions
from querymill_workers.retrievers.modules.stores.postgres_descriptions import PostgresDescriptions
from querymill_workers.retrievers.reports import glossary
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.retrievers.reports.stores.memory_life import MemoryReportLife
from querymill_workers.retrievers.reports.stores.postgres import PostgresReports
from querymill_workers.retrievers.reports.stores.postgres_life import PostgresReportLife
from querymill_workers.services.http_caller import HttpCaller
from querymill_workers.services.stores.callback_secrets import BoardSecrets, OwnSecrets
from querymill_workers.services.stores.memory import MemoryTextVectors
from querymill_workers.services.stores.memory_judgements import MemoryJudgements
from querymill_workers.services.stores.postgres import PostgresTextVectors
from querymill_workers.services.stores.postgres_judgements import PostgresJudgements
from querymill_workers.stores import (
    documents_in,
    documents_in_memory,
    modules_in,
    vector_indexes_in,
    vectors_in,
    with_bodies,
)
from querymill_workers.text.calibration import IDENTITY
from querymill_workers.text.tokens import estimate
from querymill_workers.versions.memory import MemoryVersions
from querymill_workers.versions.ports import version_floor
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.postgres import PostgresWords


@cache
def settings() -> Settings:
    """Return this process's settings, read once."""
    return Settings()


def embedding_profile(chosen: Settings) -> EmbeddingProfile:
    """Return the profile of the settings' embedding model."""
    return profile_of(chosen.embedding_model, dimensions=chosen.querymill_embedding_dimensions)


def judge_of(chosen: Settings, chat_model: ChatModel) -> Judge:
    """Return the relevance judge: the rerank endpoint if the settings name one, else the chat model."""
    tokens = chosen.querymill_rerank_tokens
    if not chosen.rerank_base_url:
        return HalvingJudge(ChatJudge(chat_model, passage_tokens=tokens, writes=chosen.writes_answers))
    endpoint = rerank_endpoint(chosen)
    gateway: Gateway[RelevanceByIndex] = Gateway(
        account_with(chosen.rerank_base_url, chosen.rerank_api_key.get_secret_value(), chosen.rerank_model),
        "rerank endpoint", timeout_s=chosen.querymill_rerank_timeout_s, probe=endpoint.probe,
        traced_as=("rerank", chosen.rerank_model),
    )  # fmt: skip
    return HalvingJudge(HttpJudge(endpoint, gateway, ledger(chosen), passage_tokens=tokens))


def rerank_endpoint(chosen: Settings) -> RerankEndpoint:
    """Return the rerank endpoint, without limits."""
    base_url, key = chosen.rerank_base_url, chosen.rerank_api_key.get_secret_value()
    return RerankEndpoint(
        open_endpoint(base_url, key), base_url, model=chosen.rerank_model, shape=chosen.querymill_rerank_shape,
        capabilities=capabilities_of(base_url, chosen.rerank_model),
    )  # fmt: skip


@cache
def board() -> ValkeyBoard:
    """Return this process's board, opened once."""

    def largest_stored(at_least_us: int) -> int:
        return version_floor(ports().versions, ports().conversations, at_least_us)

    return ValkeyBoard.connect(settings(), on_end=log_end, largest_stored=largest_stored)


#: The name of this worker, which it keeps when it is started again. Celery gives it before anything else.
_name = [f"{socket.gethostname()}:{os.getpid()}"]


def name_worker(name: str) -> None:
    """Name this process before its heartbeat begins."""
    _name[0] = name


@cache
def heartbeat() -> HeartbeatThread:
    """Return this process's heartbeat."""
    return HeartbeatThread(board(), name=_name[0], lease_s=settings().querymill_lease_s)


@cache
def step_pool() -> StepPool:
    """Return the threads of this process that run steps."""
    return StepPool()


@cache
def cache_client() -> redis.Redis:
    """Return this process's client for accounts, limits and counters. It reads bytes, unlike the board's."""
    return open_commands(settings().redis_url, decode_responses=False)


@cache
def value_client() -> redis.Redis:
    """Return this process's client for the values that the fleet caches: vectors and replies."""
    at = settings().querymill_cache_url
    return open_cache(at) if at else cache_client()


@cache
def fleet_counters() -> FleetCounters:
    """Return this process's part of the fleet's counters."""
    return FleetCounters(cache_client())


def ledger(chosen: Settings) -> Ledger:
    """Return what calls are charged to, with the settings' prices."""
    tariff = Tariff(chosen.querymill_prices, chosen.querymill_currency)
    most = chosen.querymill_collection_tokens_per_day
    return Ledger(cache_client(), tariff, fleet_counters(), collection_tokens_per_day=most)


def account_with(
    provider: str, key: str, model: str, *, rpm: int | None = None, tpm: int | None = None, sized: bool = False
) -> Account:
    """Return the fleet's account with a provider, for one of its models. ``sized``: see `Account`."""
    return Account(
        cache_client(),
        provider=provider,
        key=key,
        model=model,
        requests_per_minute=rpm,
        tokens_per_minute=tpm,
        fleet_counters=fleet_counters(),
        sized=sized,
    )


def capabilities_of(base_url: str, model: str) -> Capabilities:
    """Return what the fleet knows of a model at an address."""
    return Capabilities(cache_client(), address=base_url, model=model)


def embeddings(chosen: Settings) -> SharedEmbeddings:
    """Return the adapter for the embedding model."""
    base_url, key = chosen.embedding_endpoint
    return embeddings_of(
        chosen, embedding_profile(chosen), base_url, key, rpm=chosen.embedding_rpm, tpm=chosen.embedding_tpm
    )


def embeddings_of(
    chosen: Settings,
    profile: EmbeddingProfile,
    base_url: str,
    key: str,
    *,
    rpm: int | None = None,
    tpm: int | None = None,
) -> SharedEmbeddings:
    """Return the adapter for an embedding model at a given provider."""
    timeout_s = chosen.querymill_embedding_timeout_s
    account = account_with(base_url, key, profile.model, rpm=rpm, tpm=tpm, sized=True)
    endpoint = embedding_endpoint(chosen, profile, base_url, key)
    return SharedEmbeddings(
        endpoint,
        Gateway(
            account, "embedding", timeout_s=timeout_s, probe=endpoint.probe, traced_as=("embeddings", profile.model)
        ),
        FleetCache(
            value_client(), label="vector", ttl_s=chosen.querymill_vector_ttl_s, fleet_counters=fleet_counters()
        ),
        ledger(chosen),
        profile,
        fleet_counters(),
        scoped=chosen.querymill_cache_scope == "collection",
    )


def embedding_endpoint(chosen: Settings, profile: EmbeddingProfile, base_url: str, key: str) -> OpenAIEndpoint:
    """Return the endpoint of an embedding model, without limits and caches."""
    timeout_s = chosen.querymill_embedding_timeout_s
    client = open_client(base_url, key, timeout_s=timeout_s, max_bytes=profile.max_bytes)
    return OpenAIEndpoint(client, profile, capabilities_of(base_url, profile.model))


def previous_profile(chosen: Settings) -> EmbeddingProfile | None:
    """Return the profile of the previous embedding model, or None if the settings name none.

    Unless it is known or set, it has the dimension of EMBEDDING_MODEL.
    """
    if not chosen.querymill_previous_embedding_model:
        return None
    dimensions = chosen.querymill_previous_embedding_dimensions or embedding_profile(chosen).dimensions
    return profile_of(chosen.querymill_previous_embedding_model, dimensions=dimensions)


def previous_model(chosen: Settings) -> PreviousModel | None:
    """Return the previous embedding model, or None if the settings name none."""
    profile = previous_profile(chosen)
    if profile is None:
        return None
    base_url, key = chosen.previous_embedding_endpoint
    return PreviousModel(embeddings_of(chosen, profile, base_url, key), calibration_of(profile.model))


def chat(chosen: Settings) -> ChatModel:
    """Return the adapter for the chat model."""
    base_url, key = chosen.openai_base_url, chosen.openai_api_key.get_secret_value()
    timeout_s = chosen.querymill_chat_timeout_s
    account = account_with(base_url, key, chosen.chat_model, rpm=chosen.chat_rpm, tpm=chosen.chat_tpm)
    endpoint = chat_endpoint(chosen)
    return ChatModel(
        endpoint,
        Gateway(
            account, "chat model", timeout_s=timeout_s, probe=endpoint.probe, traced_as=("chat", chosen.chat_model)
        ),
        FleetCache(
            value_client(), label="chat", ttl_s=chosen.querymill_expansion_ttl_s, fleet_counters=fleet_counters()
        ),
        ledger(chosen),
        scoped=chosen.querymill_cache_scope == "collection",
    )


def chat_endpoint(chosen: Settings) -> OpenAIChat:
    """Return the endpoint of the chat model, without limits and caches."""
    base_url, key = chosen.openai_base_url, chosen.openai_api_key.get_secret_value()
    client = open_client(base_url, key, timeout_s=chosen.querymill_chat_timeout_s)
    return OpenAIChat(client, chosen.chat_model, capabilities_of(base_url, chosen.chat_model))


@cache
def ports() -> Ports:
    """Return this process's adapters, built once on first use, so that no connection crosses a fork."""
    chosen = settings()
    chat_model = chat(chosen)
    pool = open_pool(chosen.database_url.get_secret_value(), prepares=chosen.querymill_prepared_statements)
    words = PostgresWords(pool)
    files, near = PostgresFiles(pool), vector_indexes_in(pool)
    messages = PostgresMessages(pool, near["messages"], ef_search=chosen.querymill_ef_search)
    conversations, ranks = PostgresConversations(pool), PostgresRanks(pool)
    built = Ports(
        board=board(),
        heartbeat=heartbeat(),
        embeddings=embeddings(chosen),
        rewriter=ChatRewriter(chat_model),
        judge=judge_of(chosen, chat_model),
        answers=ChatAnswers(chat_model, passage_tokens=chosen.querymill_answer_tokens, writes=chosen.writes_answers),
        reports=PostgresReports(pool),
        report_life=PostgresReportLife(pool),
        text_vectors=PostgresTextVectors(pool),
        judgements=PostgresJudgements(pool),
        caller=HttpCaller.configured(chosen),
        callback_secrets=BoardSecrets.configured(cache_client(), chosen),
        documents=documents_in(pool),
        bodies={},
        fleet_caches=FleetCaches(value_client()),
        words=words,
        samples=PostgresSamples(pool),
        versions=PostgresVersions(pool),
        modules=modules_in(chosen.mongodb_uri.get_secret_value(), pool),
        descriptions=PostgresDescriptions(pool),
        vectors=vectors_in(pool, fleet_counters(), near),
        shorthands=chosen.querymill_module_shorthands,
        messages=messages,
        sessions=PostgresSessions(pool),
        conversation_caches=conversation_caches(),
        conversation_passages=PostgresPassages(pool, near["conversations"], ef_search=chosen.querymill_ef_search),
        conversations=conversations,
        ranks=ranks,
        technical_keywords=TechnicalKeywords(chosen.querymill_technical_keywords or TECHNICAL_KEYWORDS),
        files=files,
        parser=TreeSitterParser(),
        file_profiles=file_profiles(chosen.querymill_file_relevance),
        calibration=calibration_of(chosen.embedding_model, chosen.querymill_calibration),
        glossary=glossary.configured(chosen.querymill_glossary),
        thesauri=thesauri(chosen.querymill_lexicon),
        count_tokens=estimate,
        clock=time.monotonic,
        max_attempts=chosen.querymill_max_attempts,
        outage_patience_s=chosen.querymill_outage_patience_s,
        previous=previous_model(chosen),
        count=fleet_counters().count,
    )
    return with_bodies(built)


def ports_in_memory(board: Board) -> Ports:
    """Return ports that need no model, and no server but that of a board."""
    reports, messages, conversations, chosen = MemoryReports(), MemoryMessages(), MemoryConversations(), Settings()
    files, descriptions, passages = MemoryFiles(), MemoryDescriptions(), MemoryPassages()
    built = Ports(
        board=board,
        heartbeat=NoHeartbeat(),
        embeddings=WordEmbeddings(),
        rewriter=WordRewriter(),
        judge=WordJudge(),
        answers=WordAnswers(),
        reports=reports,
        report_life=MemoryReportLife(reports),
        text_vectors=MemoryTextVectors(),
        judgements=MemoryJudgements(),
        caller=HttpCaller.configured(chosen),
        callback_secrets=OwnSecrets.configured(chosen),
        documents=documents_in_memory(),
        bodies={},
        fleet_caches=NoFleetCaches(),
        modules=MemoryModules(),
        descriptions=descriptions,
        vectors={
            store.vectors.retriever: store.vectors
            for store in (files, descriptions, passages, messages.sessions, reports)
        },
        messages=messages,
        sessions=messages.sessions,
        files=files,
        parser=TreeSitterParser(),
        conversations=conversations,
        conversation_caches=conversation_caches(),
        conversation_passages=passages,
        ranks=MemoryRanks(conversations),
        technical_keywords=TechnicalKeywords(),
        file_profiles=file_profiles(),
        calibration=IDENTITY,
        words=MemoryWords(),
        samples=NoSamples(),
        versions=MemoryVersions(),
        shorthands=MODULE_SHORTHANDS,
        glossary=glossary.bundled(),
        thesauri=thesauri(chosen.querymill_lexicon),
        count_tokens=estimate,
        clock=time.monotonic,
        max_attempts=chosen.querymill_max_attempts,
        outage_patience_s=chosen.querymill_outage_patience_s,
    )
    return with_bodies(built)


def _drop_connections() -> None:
    """Make a forked child open its own connections. On a shared one it could read the replies of its parent."""
    for opened in (board, heartbeat, step_pool, cache_client, value_client, fleet_counters, ports):
        opened.cache_clear()


os.register_at_fork(after_in_child=_drop_connections)
