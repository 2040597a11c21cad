"""Every setting, typed, documented once; read from the environment (12-factor)."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict
from redis import ConnectionPool

from querymill_shared.addresses import HIDDEN, mask, mask_text

#: Common names of VTK's API, and ways of saying them that are no part of a name.
MODULE_SHORTHANDS: dict[str, list[str]] = {
    **{
        name: []
        for name in (
            "actor", "mapper", "renderer", "renderWindow", "interactor", "camera", "polyData", "imageData", "volume",
            "ConeSource", "SphereSource", "CubeSource", "CylinderSource", "PlaneSource", "LineSource",
            "STLReader", "OBJReader", "PLYReader", "ColorTransferFunction", "PiecewiseFunction", "LookupTable",
        )
    },
    "point picking": ["vtkPointPicker"],
    "cell picking": ["vtkCellPicker"],
    "scalar bar": ["vtkScalarBarActor"],
    "orientation axes": ["vtkOrientationMarkerWidget", "vtkAxesActor"],
    "圆锥": ["vtkConeSource"],
    "球体": ["vtkSphereSource"],
    "立方体": ["vtkCubeSource"],
    "圆柱": ["vtkCylinderSource"],
    "体绘制": ["vtkVolume", "vtkVolumeMapper"],
    "相机": ["vtkCamera"],
}  # fmt: skip

#: The last words of the names of settings that are addresses, and so may hold a password.
_ADDRESSES = ("_url", "_uri")

Seconds = Annotated[float, Field(gt=0)]


def _read_by_redis(url: str) -> str:
    try:
        ConnectionPool.from_url(url)  # connects to nothing
    except ValueError:
        raise PydanticCustomError(
            "redis_url",
            "must be a URL that begins with redis://, rediss:// or unix://,"
            " with special characters of the password percent-encoded",
        ) from None
    return url


def _read_by_celery(urls: str) -> str:
    try:
        for url in urls.split(";"):
            _ = urlsplit(url).port
    except ValueError:
        # What Celery would raise quotes a password with an unescaped slash as a port.
        raise PydanticCustomError(
            "broker_url", "must be a URL, with special characters of the password percent-encoded"
        ) from None
    return urls


class Settings(BaseSettings):
    """The settings of producers and workers alike.

    The names of services are those that the services' own tools read; ours begin with ``QUERYMILL_``.
    """

    # An input that is refused may be a secret.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    redis_url: Annotated[str, AfterValidator(_read_by_redis), Field(description="the board")] = (
        "redis://127.0.0.1:6379/0"
    )
    celery_broker_url: Annotated[
        str, AfterValidator(_read_by_celery), Field(description="the doorbells; empty: the board's server")
    ] = ""
    database_url: Annotated[SecretStr, Field(description="PostgreSQL with pgvector")] = SecretStr(
        "postgresql://127.0.0.1:5432/querymill"
    )
    mongodb_uri: Annotated[SecretStr, Field(description="MongoDB")] = SecretStr("mongodb://127.0.0.1:27017")
    openai_base_url: Annotated[str, Field(description="chat models")] = "https://api.openai.com/v1"
    openai_api_key: Annotated[SecretStr, Field(description="its key")] = SecretStr("")
    embedding_base_url: Annotated[str, Field(description="embedding models; empty: OPENAI_BASE_URL")] = ""
    embedding_api_key: Annotated[SecretStr, Field(description="its key; empty: OPENAI_API_KEY")] = SecretStr("")
    embedding_model: Annotated[str, Field(description="embeds queries and passages")] = "text-embedding-3-small"
    chat_model: Annotated[str, Field(description="expands queries, judges relevance, answers")] = "gpt-5-mini"
    rerank_base_url: Annotated[str, Field(description="a rerank endpoint; empty: CHAT_MODEL judges")] = ""
    rerank_api_key: Annotated[SecretStr, Field(description="its key")] = SecretStr("")
    rerank_model: Annotated[str, Field(description="its model; empty: the endpoint's own")] = ""
    embedding_rpm: Annotated[int | None, Field(ge=1, description="requests a minute; unset: no limit")] = None
    embedding_tpm: Annotated[int | None, Field(ge=1, description="tokens a minute; unset: no limit")] = None
    chat_rpm: Annotated[int | None, Field(ge=1, description="requests a minute; unset: no limit")] = None
    chat_tpm: Annotated[int | None, Field(ge=1, description="tokens a minute; unset: no limit")] = None

    querymill_lease_s: Annotated[
        Seconds,
        Field(
            le=10,
            description="a step whose worker is silent this long is given to another",
        ),
    ] = 10.0
    querymill_ring_grace_s: Annotated[
        Seconds,
        Field(
            description="a bell that nobody answered for this long is rung again",
        ),
    ] = 2.0
    querymill_max_attempts: Annotated[
        int,
        Field(
            ge=1,
            description="a step that failed this often is given up",
        ),
    ] = 4
    querymill_result_ttl_s: Annotated[
        Seconds,
        Field(
            description="a finished job stays on the board this long",
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
            description="what the rerank endpoint speaks: Cohere's and Jina's, or Text Embeddings Inference's",
        ),
    ] = "cohere"
    querymill_ef_search: Annotated[
        int,
        Field(
            ge=10,
            le=1_000,
            description="how widely an index of vectors is searched: more finds more and takes longer;"
            " of a million vectors in dense clusters 400 found 0.98 of the ten nearest, without clusters it takes more",
        ),
    ] = 400
    querymill_rerank_tokens: Annotated[
        int,
        Field(
            ge=100,
            description="passages of one judging call are cut to this many tokens together",
        ),
    ] = 4_000
    querymill_answer_tokens: Annotated[
        int,
        Field(
            ge=100,
            description="passages that one answer is written from are cut to this many tokens together",
        ),
    ] = 4_000
    querymill_embedding_dimensions: Annotated[
        int | None,
        Field(
            ge=1,
            le=4000,
            description="for a model we have no profile of",
        ),
    ] = None
    querymill_former_embedding_model: Annotated[
        str,
        Field(
            description="the model before EMBEDDING_MODEL, of the same dimension: messages with vectors of its own"
            " are searched by it; empty: by text",
        ),
    ] = ""
    querymill_former_embedding_base_url: Annotated[
        str,
        Field(
            description="where it is; empty: where EMBEDDING_MODEL is",
        ),
    ] = ""
    querymill_former_embedding_api_key: Annotated[
        SecretStr,
        Field(
            description="its key; empty: that of EMBEDDING_MODEL",
        ),
    ] = SecretStr("")
    querymill_calibration: Annotated[
        str,
        Field(
            description="a profile that `querymill calibrate` wrote; empty: the one we have of the model, if any",
        ),
    ] = ""
    querymill_file_relevance: Annotated[
        str,
        Field(description="profiles that `querymill calibrate-files` wrote; empty: those that come with us"),
    ] = ""
    querymill_cache_scope: Annotated[
        Literal["collection", "shared"],
        Field(
            description="whether a collection may be served from what another one cached",
        ),
    ] = "collection"
    querymill_vector_ttl_s: Annotated[
        Seconds,
        Field(
            description="the fleet keeps a vector this long",
        ),
    ] = 6 * 3600.0
    querymill_expansion_ttl_s: Annotated[
        Seconds,
        Field(
            description="the fleet keeps a chat model's reply this long",
        ),
    ] = 24 * 3600.0
    querymill_collection_tokens_per_day: Annotated[
        int | None,
        Field(
            ge=1,
            description="tokens a collection may use in a day; unset: no limit",
        ),
    ] = None
    querymill_metrics_port: Annotated[
        int | None,
        Field(
            ge=1,
            le=65535,
            description="a worker serves /metrics here, the figures of the fleet; unset: it does not",
        ),
    ] = None
    querymill_module_shorthands: Annotated[
        dict[str, list[str]],
        Field(
            description="what stands for modules in a request: a plain name, or an alias with its modules (JSON)",
        ),
    ] = MODULE_SHORTHANDS
    querymill_technical_keywords: Annotated[
        list[str],
        Field(
            description="terms that make a conversation technical (JSON); empty: those we have",
        ),
    ] = []
    querymill_log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"],
        Field(
            description="questions and passages appear at DEBUG only",
        ),
    ] = "INFO"

    @property
    def broker_url(self) -> str:
        """Where the doorbells hang."""
        return self.celery_broker_url or self.redis_url

    @property
    def embedding_endpoint(self) -> tuple[str, str]:
        """Base URL and key of the embedding provider."""
        return (
            self.embedding_base_url or self.openai_base_url,
            self.embedding_api_key.get_secret_value() or self.openai_api_key.get_secret_value(),
        )

    @property
    def former_embedding_endpoint(self) -> tuple[str, str]:
        """Base URL and key of the provider of the embedding model before."""
        base_url, key = self.embedding_endpoint
        return (
            self.querymill_former_embedding_base_url or base_url,
            self.querymill_former_embedding_api_key.get_secret_value() or key,
        )

    def shown(self, name: str) -> str:
        """Return a setting as it may be printed: a secret is hidden, and so are the secrets of an address."""
        plain = self._plain(name)
        if name.endswith(_ADDRESSES):
            return mask(plain)
        return HIDDEN if plain and isinstance(getattr(self, name), SecretStr) else plain

    def mask_secrets(self, text: str) -> str:
        """Hide in a text, such as a driver's error, the addresses it quotes and every word of a secret of ours."""
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
    """List the words of a secret, as written and as decoded: drivers quote the part that they stumble over."""
    return {word for form in (text, unquote(text)) for word in re.findall(r"\w{3,}", form)}
