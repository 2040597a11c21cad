"""Every setting, with its type and description.

They are read from the environment, from the files that ``NAME_FILE`` names, and from ``.env`` in the working folder.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from querymill_shared.board_addresses import as_redis_says, read_by_celery, read_by_redis
from querymill_shared.secret_files import DOT_ENV, read_files
from querymill_shared.shorthands import MODULE_SHORTHANDS
from querymill_shared.urls import HIDDEN, mask, mask_text

#: A setting whose name ends like this holds an address, which may contain a password.
_ADDRESSES = ("_url", "_uri")

Seconds = Annotated[float, Field(gt=0)]


def _absolute(folder: str) -> str:
    if not PurePath(folder).is_absolute():
        raise PydanticCustomError("folder", "must be an absolute path")
    return folder


class Settings(BaseSettings):
    """The settings of producers and workers.

    Settings for services have the names that the services' own tools use. All others begin with ``QUERYMILL_``.
    """

    # A rejected value may be a secret.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, env_file=DOT_ENV)

    redis_url: Annotated[
        str,
        AfterValidator(read_by_redis),
        Field(description="URL of the job board: Redis or Valkey, or its Sentinels (sentinel://HOST,HOST/NAME/0)"),
    ] = "redis://127.0.0.1:6379/0"
    celery_broker_url: Annotated[
        str,
        AfterValidator(read_by_celery),
        Field(description="URL of the Celery broker, which carries the bells, such as amqps://; empty: REDIS_URL"),
    ] = ""
    database_url: Annotated[
        SecretStr, Field(description="URL of PostgreSQL with pgvector; it may name several hosts")
    ] = SecretStr("postgresql://127.0.0.1:5432/querymill")
    mongodb_uri: Annotated[
        SecretStr, Field(description="URI of a MongoDB for the code documents of `modules`; empty: PostgreSQL has them")
    ] = SecretStr("")
    openai_base_url: Annotated[str, Field(description="base URL of the chat models")] = "https://api.openai.com/v1"
    openai_api_key: Annotated[SecretStr, Field(description="API key for OPENAI_BASE_URL")] = SecretStr("")
    embedding_base_url: Annotated[
        str, Field(description="base URL of the embedding models; empty: OPENAI_BASE_URL")
    ] = ""
    embedding_api_key: Annotated[
        SecretStr, Field(description="API key for EMBEDDING_BASE_URL; empty: OPENAI_API_KEY")
    ] = SecretStr("")
    embedding_model: Annotated[str, Field(description="model that embeds queries and passages")] = (
        "text-embedding-3-small"
    )
    chat_model: Annotated[str, Field(description="model that expands queries, judges relevance and writes answers")] = (
        "gpt-5-mini"
    )
    rerank_base_url: Annotated[str, Field(description="base URL of a rerank endpoint; empty: CHAT_MODEL judges")] = ""
    rerank_api_key: Annotated[SecretStr, Field(description="API key for RERANK_BASE_URL")] = SecretStr("")
    rerank_model: Annotated[str, Field(description="model of the rerank endpoint; empty: the endpoint's default")] = ""
    embedding_rpm: Annotated[int | None, Field(ge=1, description="embedding requests per minute; unset: no limit")] = (
        None
    )
    embedding_tpm: Annotated[int | None, Field(ge=1, description="embedding tokens per minute; unset: no limit")] = None
    chat_rpm: Annotated[int | None, Field(ge=1, description="chat requests per minute; unset: no limit")] = None
    chat_tpm: Annotated[int | None, Field(ge=1, description="chat tokens per minute; unset: no limit")] = None

    querymill_prepared_statements: Annotated[
        Literal["auto", "on", "off"],
        Field(
            description="whether workers prepare the statements that they run often; auto: not behind a pooler;"
            " on: also there, which needs PgBouncer 1.21 or newer with max_prepared_statements",
        ),
    ] = "auto"
    querymill_lease_s: Annotated[
        Seconds,
        Field(
            le=10,
            description="after this long without a heartbeat of its worker, a step is given to another",
        ),
    ] = 4.0
    querymill_ring_grace_s: Annotated[
        Seconds,
        Field(
            description="a bell that no worker picked up for this long is rung again",
        ),
    ] = 2.0
    querymill_max_attempts: Annotated[
        int,
        Field(
            ge=1,
            description="attempts of a step: its failures and the deaths of its workers count, outages do not",
        ),
    ] = 4
    querymill_outage_patience_s: Annotated[
        Seconds,
        Field(
            description="how long a job without a deadline waits for stores and providers that are away, or for a"
            " worker that can read it, before it is put on the dead-letter list",
        ),
    ] = 6 * 3600.0
    querymill_result_ttl_s: Annotated[
        Seconds,
        Field(
            description="how long a finished job stays on the board",
        ),
    ] = 3600.0
    querymill_chat_timeout_s: Annotated[
        Seconds,
        Field(
            le=20,
            description="time limit of one chat call",
        ),
    ] = 20.0
    querymill_embedding_timeout_s: Annotated[
        Seconds,
        Field(
            le=20,
            description="time limit of one embedding call",
        ),
    ] = 20.0
    querymill_rerank_timeout_s: Annotated[
        Seconds,
        Field(
            le=20,
            description="time limit of one call to the rerank endpoint",
        ),
    ] = 20.0
    querymill_rerank_shape: Annotated[
        Literal["cohere", "tei"],
        Field(
            description="API of the rerank endpoint: cohere (also Jina) or tei (Text Embeddings Inference)",
        ),
    ] = "cohere"
    querymill_ef_search: Annotated[
        int,
        Field(
            ge=10,
            le=1_000,
            description="search width of a vector index: a larger value finds more and takes longer;"
            " 400 found 0.98 of the ten nearest among a million vectors in dense clusters, unclustered ones need more",
        ),
    ] = 400
    querymill_rerank_tokens: Annotated[
        int,
        Field(
            ge=100,
            description="the passages of one relevance call are cut to this many tokens in total",
        ),
    ] = 4_000
    querymill_answer_tokens: Annotated[
        int,
        Field(
            ge=100,
            description="the passages that one answer is written from are cut to this many tokens in total",
        ),
    ] = 4_000
    querymill_embedding_dimensions: Annotated[
        int | None,
        Field(
            ge=1,
            le=4000,
            description="vector length of EMBEDDING_MODEL; needed only for a model without a built-in profile",
        ),
    ] = None
    querymill_previous_embedding_model: Annotated[
        str,
        Field(
            description="previous embedding model: collections whose vectors come from it are searched with it"
            " until they are embedded again; empty: by text",
        ),
    ] = ""
    querymill_previous_embedding_dimensions: Annotated[
        int | None,
        Field(
            ge=1,
            le=4000,
            description="vector length of the previous model; empty: that of its built-in profile, else that of"
            " EMBEDDING_MODEL",
        ),
    ] = None
    querymill_previous_embedding_base_url: Annotated[
        str,
        Field(
            description="base URL of the previous model's provider; empty: that of EMBEDDING_MODEL",
        ),
    ] = ""
    querymill_previous_embedding_api_key: Annotated[
        SecretStr,
        Field(
            description="API key of the previous model's provider; empty: that of EMBEDDING_MODEL",
        ),
    ] = SecretStr("")
    querymill_calibration: Annotated[
        str,
        Field(
            description="path of a profile that `querymill calibrate` wrote; empty: the model's built-in one, if any",
        ),
    ] = ""
    querymill_file_relevance: Annotated[
        str,
        Field(description="path of the profiles that `querymill calibrate-files` wrote; empty: the built-in ones"),
    ] = ""
    querymill_cache_scope: Annotated[
        Literal["collection", "shared"],
        Field(
            description="collection: only the collection that cached a vector or reply may use it; shared: all may",
        ),
    ] = "collection"
    querymill_vector_ttl_s: Annotated[
        Seconds,
        Field(
            description="how long the fleet caches a vector",
        ),
    ] = 6 * 3600.0
    querymill_expansion_ttl_s: Annotated[
        Seconds,
        Field(
            description="how long the fleet caches a chat model's reply",
        ),
    ] = 24 * 3600.0
    querymill_collection_tokens_per_day: Annotated[
        int | None,
        Field(
            ge=1,
            description="estimated tokens that a collection may use per UTC day; unset: no limit",
        ),
    ] = None
    querymill_cache_url: Annotated[
        str,
        AfterValidator(lambda url: url and read_by_redis(url)),
        Field(
            description="URL of a Redis or Valkey of its own for the vectors and replies that the fleet caches: it may"
            " evict, and jobs go on without it, but drops wait for it; empty: REDIS_URL",
        ),
    ] = ""
    querymill_metrics_port: Annotated[
        int | None,
        Field(
            ge=1,
            le=65535,
            description="port on which a worker serves the fleet's /metrics, /healthz and /readyz; unset: none",
        ),
    ] = None
    querymill_metrics_host: Annotated[
        str,
        Field(
            min_length=1,
            description="address at which a worker serves that port, without authentication; 0.0.0.0: all of IPv4",
        ),
    ] = "127.0.0.1"
    querymill_hosts: Annotated[
        list[str],
        Field(
            description="names that the gateway is called by (JSON); empty: any, but without API keys loopback's only",
        ),
    ] = []
    querymill_keys_required: Annotated[
        bool, Field(description="API keys are required even while the board has none; QUERYMILL_HOSTS implies it")
    ] = False
    querymill_cors_origins: Annotated[
        list[str],
        Field(
            description="origins of web pages that may call the gateway, such as https://app.example (JSON)",
        ),
    ] = []
    querymill_console_hide_questions: Annotated[
        bool, Field(description="show no questions in the console's lists of jobs")
    ] = False
    querymill_document_folders: Annotated[
        list[Annotated[str, AfterValidator(_absolute)]],
        Field(
            description="folders whose PDF files the console may show as pictures beside the texts read from them"
            " (JSON); empty: none, but below your home folder for `querymill up`",
        ),
    ] = []
    querymill_gateway_waiting: Annotated[
        int,
        Field(
            ge=1,
            description="requests that wait and streams that one gateway process holds at once; more get 503",
        ),
    ] = 2_000
    querymill_module_shorthands: Annotated[
        dict[str, list[str]],
        Field(
            description="names that stand for modules in a request: a plain name, or an alias with its modules (JSON)",
        ),
    ] = MODULE_SHORTHANDS
    querymill_glossary: Annotated[
        str,
        Field(
            description="terms of questions about reports, beside the built-in ones: a JSON object (or the path of a"
            " file with one) of explanations, or of objects with explanation, zh, also, stated_as",
        ),
    ] = ""
    querymill_lexicon: Annotated[
        str,
        Field(
            description="path of your own translations and synonyms, a .tsv with the columns terms, english, domains;"
            " workers add them to requests from their next start, and nothing is indexed again",
        ),
    ] = ""
    querymill_technical_keywords: Annotated[
        list[str],
        Field(
            description="terms that make a conversation technical (JSON); empty: the built-in list",
        ),
    ] = []
    querymill_log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"],
        Field(
            description="log level; questions and passages appear at DEBUG only",
        ),
    ] = "INFO"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # a folder of secrets; pydantic's own way
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where settings are read from, the strongest first. Raises UnreadableSetting."""
        in_files = dict(read_files(name.upper() for name in cls.model_fields))
        files = InitSettingsSource(settings_cls, {name.lower(): value for name, value in in_files.items()})
        return init_settings, env_settings, files, dotenv_settings

    @property
    def broker_url(self) -> str:
        """URL of the Celery broker. One on Redis is written as ``redis_url`` is."""
        return as_redis_says(self.celery_broker_url) or self.redis_url

    @property
    def embedding_endpoint(self) -> tuple[str, str]:
        """Base URL and key of the embedding provider."""
        return (
            self.embedding_base_url or self.openai_base_url,
            self.embedding_api_key.get_secret_value() or self.openai_api_key.get_secret_value(),
        )

    @property
    def previous_embedding_endpoint(self) -> tuple[str, str]:
        """Base URL and key of the previous embedding model's provider."""
        base_url, key = self.embedding_endpoint
        return (
            self.querymill_previous_embedding_base_url or base_url,
            self.querymill_previous_embedding_api_key.get_secret_value() or key,
        )

    def shown(self, name: str) -> str:
        """Return a setting for printing, with secrets hidden, including those in addresses."""
        plain = self._plain(name)
        if name.endswith(_ADDRESSES):
            return mask(plain)
        return HIDDEN if plain and isinstance(getattr(self, name), SecretStr) else plain

    def mask_secrets(self, text: str) -> str:
        """Return a text, such as a driver's error, without the secrets of addresses and of these settings."""
        masked = mask_text(text)
        for name in type(self).model_fields:
            for word in _words(self._plain(name)) - _words(self.shown(name)):
                masked = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", HIDDEN, masked)
        return masked

    def _plain(self, name: str) -> str:
        value = getattr(self, name)
        return value.get_secret_value() if isinstance(value, SecretStr) else str(value)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, mask(value) if isinstance(value, str) and str(name).endswith(_ADDRESSES) else value


def _words(text: str) -> set[str]:
    """Return the words of a secret, both raw and percent-decoded, because drivers quote the part they cannot read."""
    return {word for form in (text, unquote(text)) for word in re.findall(r"\w{3,}", form)}
