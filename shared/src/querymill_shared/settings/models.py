"""The models and their providers: addresses, limits, caches."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from querymill_shared.contracts.costs import ModelPrice
from querymill_shared.contracts.fields import Written
from querymill_shared.settings.units import Seconds


class ModelSettings(BaseSettings):
    """The models and their providers: addresses, limits, caches."""

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
    chat_model: Annotated[
        str,
        Field(
            description="model that expands queries, judges relevance and writes answers; empty: none, and answers are"
            " quotations",
        ),
    ] = "gpt-5-mini"
    rerank_base_url: Annotated[str, Field(description="base URL of a rerank endpoint; empty: CHAT_MODEL judges")] = ""
    rerank_api_key: Annotated[SecretStr, Field(description="API key for RERANK_BASE_URL")] = SecretStr("")
    rerank_model: Annotated[str, Field(description="model of the rerank endpoint; empty: the endpoint's default")] = ""
    embedding_rpm: Annotated[int | None, Field(ge=1, description="embedding requests per minute; unset: no limit")] = (
        None
    )
    embedding_tpm: Annotated[int | None, Field(ge=1, description="embedding tokens per minute; unset: no limit")] = None
    chat_rpm: Annotated[int | None, Field(ge=1, description="chat requests per minute; unset: no limit")] = None
    chat_tpm: Annotated[int | None, Field(ge=1, description="chat tokens per minute; unset: no limit")] = None
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
    querymill_answers: Annotated[
        Literal["written", "quoted"],
        Field(
            description="written: CHAT_MODEL writes answers, and where it fails they are quotations; quoted: they are"
            " put together of sentences and table rows of the hits, for a chat model that is to write no answers",
        ),
    ] = "written"
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
            description="how long the fleet caches a vector; a worker, in its own memory, at most an hour",
        ),
    ] = 6 * 3600.0
    querymill_expansion_ttl_s: Annotated[
        Seconds,
        Field(
            description="how long the fleet caches a chat model's reply",
        ),
    ] = 24 * 3600.0
    querymill_prices: Annotated[
        dict[str, ModelPrice],
        Field(
            description="prices of models per million tokens (JSON), such as"
            ' {"gpt-5-mini": {"input": 0.25, "output": 2}}; a model without one has tokens and no money',
        ),
    ] = {}
    querymill_currency: Annotated[
        str,
        Written(r"^\S+$", "must have no blanks"),
        Field(
            min_length=1,
            max_length=10,
            description="what money of QUERYMILL_PRICES and of budgets is called",
        ),
    ] = "USD"
    querymill_collection_tokens_per_day: Annotated[
        int | None,
        Field(
            ge=1,
            description="estimated tokens that a collection may use per UTC day; unset: no limit",
        ),
    ] = None
