"""Where the board, the broker and the stores are, and how the stores are used."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings

from querymill_shared.board_addresses import read_by_celery, read_by_redis


class ServiceSettings(BaseSettings):
    """Where the board, the broker and the stores are, and how the stores are used."""

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
    querymill_cache_url: Annotated[
        str,
        AfterValidator(lambda url: url and read_by_redis(url)),
        Field(
            description="URL of a Redis or Valkey of its own for the vectors and replies that the fleet caches: it may"
            " evict, and jobs go on without it, but drops wait for it; empty: REDIS_URL",
        ),
    ] = ""
    querymill_prepared_statements: Annotated[
        Literal["auto", "on", "off"],
        Field(
            description="whether workers prepare the statements that they run often; auto: not behind a pooler;"
            " on: also there, which needs PgBouncer 1.21 or newer with max_prepared_statements",
        ),
    ] = "auto"
    querymill_ef_search: Annotated[
        int,
        Field(
            ge=10,
            le=1_000,
            description="search width of a vector index: a larger value finds more and takes longer;"
            " 400 found 0.98 of the ten nearest among a million vectors in dense clusters, unclustered ones need more",
        ),
    ] = 400
