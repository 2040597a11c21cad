"""The secrets that sign callbacks: of the mill, from the settings; of API keys, by the numbers that the board holds."""

import time
from collections.abc import Sequence
from typing import Self

import redis
from pydantic import ValidationError
from typing_extensions import override

from querymill_shared.board.keys import CALLBACK_SECRETS
from querymill_shared.callback_secrets import CallbackSecrets, read_masters, secret_of
from querymill_shared.settings import Settings
from querymill_workers.services.ports import CallbackSecretsInUse


class BoardSecrets(CallbackSecretsInUse):
    """Reads on the board which secrets of a key are valid. The time is that of the board's server."""

    def __init__(self, client: redis.Redis, masters: Sequence[bytes]) -> None:
        self._client = client
        self._masters = masters

    @classmethod
    def configured(cls, client: redis.Redis, settings: Settings) -> Self:
        """Return those of the settings' secret."""
        return cls(client, read_masters(settings.querymill_callback_secret.get_secret_value()))

    @override
    def valid(self, key_id: str) -> Sequence[bytes]:
        if not key_id:
            return self._masters
        stored = self._client.hget(CALLBACK_SECRETS, key_id)
        try:
            known = CallbackSecrets.model_validate_json(stored or "{}")
        except ValidationError:  # another program wrote it
            return ()
        return [secret_of(master, key_id, number) for number in known.valid(self.now()) for master in self._masters]

    @override
    def now(self) -> int:
        seconds, _ = self._client.time()
        return int(seconds)


class OwnSecrets(CallbackSecretsInUse):
    """The secrets of a mill without API keys."""

    def __init__(self, masters: Sequence[bytes]) -> None:
        self._masters = masters

    @classmethod
    def configured(cls, settings: Settings) -> Self:
        """Return those of the settings' secret."""
        return cls(read_masters(settings.querymill_callback_secret.get_secret_value()))

    @override
    def valid(self, key_id: str) -> Sequence[bytes]:
        return () if key_id else self._masters

    @override
    def now(self) -> int:
        return int(time.time())
