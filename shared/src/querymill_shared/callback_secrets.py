"""The secrets that sign callbacks: one for each API key, made from the secret of the mill, and kept nowhere.

The board has of a key only which numbers of its secrets are valid, so neither the board nor a backup holds a secret.
"""

import hashlib
import hmac
from typing import Self

from pydantic import BaseModel, ConfigDict

from querymill_shared.webhooks import read_secret


class SecretNumber(BaseModel):
    """A secret of a key by its number, and until when it signs (s since the epoch), None for ever."""

    model_config = ConfigDict(frozen=True)

    number: int
    until: float | None = None


class CallbackSecrets(BaseModel):
    """The secrets of a key, the newest first."""

    model_config = ConfigDict(frozen=True)

    secrets: tuple[SecretNumber, ...] = ()

    def valid(self, now: float) -> list[int]:
        """Return the numbers of the secrets that sign now."""
        return [each.number for each in self.secrets if each.until is None or each.until > now]

    def rotated(self, now: float, *, grace_s: float) -> Self:
        """Return them with a new secret. Those before sign for ``grace_s`` seconds more."""
        ends = now + grace_s
        kept = [each for each in self.secrets if each.until is None or each.until > now] if grace_s > 0 else []
        newest = max((each.number for each in self.secrets), default=0) + 1
        old = tuple(each.model_copy(update={"until": min(each.until or ends, ends)}) for each in kept)
        return self.model_copy(update={"secrets": (SecretNumber(number=newest), *old)})


def read_masters(written: str) -> list[bytes]:
    """Return the secrets of the mill, the newest first: one, or two while it is replaced.

    Raises:
        ValueError: One is not written as a secret is, or there are more. The message repeats none.
    """
    words = written.split()
    if len(words) > 2:
        raise ValueError("must be one secret, or two while it is replaced, the new one first")
    return [read_secret(word) for word in words]


def secret_of(master: bytes, key_id: str, number: int) -> bytes:
    """Return a secret of an API key: 32 bytes, from which nobody can tell those of other keys."""
    return hmac.digest(master, f"querymill callback secret\n{key_id}\n{number}".encode(), hashlib.sha256)
