"""Every setting, with its type and description.

They are read from the environment, from the files that ``NAME_FILE`` names, and from ``.env`` in the working folder.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from querymill_shared.board_addresses import as_redis_says
from querymill_shared.secret_files import DOT_ENV, read_files
from querymill_shared.settings.gateway import GatewaySettings
from querymill_shared.settings.jobs import JobSettings
from querymill_shared.settings.models import ModelSettings
from querymill_shared.settings.services import ServiceSettings
from querymill_shared.settings.words import WordSettings
from querymill_shared.urls import HIDDEN, mask, mask_text

#: A setting whose name ends like this holds an address, which may contain a password.
_ADDRESSES = ("_url", "_uri")


class Settings(WordSettings, GatewaySettings, JobSettings, ModelSettings, ServiceSettings):
    """The settings of producers and workers.

    Settings for services have the names that the services' own tools use. All others begin with ``QUERYMILL_``.
    """

    # A rejected value may be a secret.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, env_file=DOT_ENV)

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
    def writes_answers(self) -> bool:
        """Whether CHAT_MODEL writes answers; otherwise they are quotations."""
        return bool(self.chat_model) and self.querymill_answers == "written"

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
