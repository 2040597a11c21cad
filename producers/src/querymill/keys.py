"""The API keys of the gateway: what a key may do, and how keys are made, rotated and revoked.

A key is shown once, when it is made. The board holds a SHA-256 hash of its secret. The secret is 256 random bits, so a
slow hash would protect nothing.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, Self

import redis
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from querymill_shared.board.connections import CLIENT_COMMANDS, open_commands
from querymill_shared.board.keys import API_KEYS
from querymill_shared.contracts.errors import QuerymillError
from querymill_shared.contracts.fields import JOINED, CollectionName, Written
from querymill_shared.settings import Settings

#: A hash on the board: the id of a key, and the key as JSON.
STORED_AT: Final = API_KEYS
#: A hash on the board: the id of a key, and the minute since the epoch in which a gateway last saw it. It is among the
#: keys that only gateways write.
USES_AT: Final = "qm:gate:uses"
#: The collection of a key that may see all.
ALL: Final = "*"
#: What an operator reads where keys are required and the board has none.
NONE_STORED: Final = "API keys are required and the board has none: make one with `querymill keys add`"
#: A secret that was rotated stays valid for this long, in seconds, unless told otherwise.
GRACE_S: Final = 3600.0
_WRITTEN: Final = re.compile(r"qm_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")


class Scope(StrEnum):
    """What a key allows: to search and read, to ingest, to delete, to operate the fleet."""

    SEARCH = "search"
    INGEST = "ingest"
    DELETE = "delete"
    OPERATE = "operate"


NameOrAll = Annotated[
    str,
    Written(
        r"^(\*|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$",
        "must be * for all, or 1 to 64 letters (A to Z), digits, dots, dashes or underscores, a letter or digit first",
    ),
]


class Secret(BaseModel):
    """The hash of a secret, and until when it is valid (s since the epoch), None for ever."""

    model_config = ConfigDict(frozen=True)

    digest: str
    until: float | None = None


class ApiKey(BaseModel):
    """A key. ``requests_per_minute`` and ``concurrency`` are None where there is no limit; times are s since the epoch.

    ``collections`` are those that it may see, or "*" for all. The compatible route searches ``default_collection`` if
    a request names none. From ``expires`` on it is not valid, None for never: all its secrets end then, too.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=100),
        Written(r"^[^\x00-\x1f\x7f]+$", "must have no control characters"),
    ]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)]
    collections: Annotated[frozenset[NameOrAll], Field(min_length=1)]
    default_collection: CollectionName | None = None
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    concurrency: Annotated[int, Field(ge=1)] | None = None
    created: float
    revoked: float | None = None
    expires: float | None = None
    secrets: tuple[Secret, ...] = ()

    def sees(self, collection: str) -> bool:
        """Return whether it may see a collection, or each of those that a job of several is named after."""
        return ALL in self.collections or all(name in self.collections for name in collection.split(JOINED))

    def accepts(self, secret: str, now: float) -> bool:
        """Return whether a secret is one of its own. The time that takes does not depend on the secret."""
        return self.holds(_digest(secret), now)

    def holds(self, digest: str, now: float) -> bool:
        """Return whether a digest is that of a secret which is valid now."""
        found = [
            hmac.compare_digest(digest, each.digest) for each in self.secrets if each.until is None or each.until > now
        ]
        return any(found) and self.revoked is None

    def is_expired(self, now: float) -> bool:
        """Return whether its time has passed."""
        return self.expires is not None and self.expires <= now

    def was(self, secret: str) -> bool:
        """Return whether a secret was one of its own, though it may have ended since."""
        found = [hmac.compare_digest(_digest(secret), each.digest) for each in self.secrets]
        return any(found)

    def presented_by(self, secret: str) -> Self:
        """Return the key with the one secret by which its caller came."""
        digest = _digest(secret)
        return self.model_copy(update={"secrets": tuple(each for each in self.secrets if each.digest == digest)})


#: Who calls a gateway without keys, which serves loopback only.
LOOPBACK_CALLER: Final = ApiKey(
    id="", name="loopback", scopes=frozenset(Scope), collections=frozenset((ALL,)), created=0.0
)  # fmt: skip
#: What an unknown id is compared with, so that it takes as long as a wrong secret.
NOBODY: Final = LOOPBACK_CALLER.model_copy(update={"secrets": (Secret(digest="0" * 64),)})


class KeyIsExpired(QuerymillError):
    """Raised when a key that has expired is to get a new secret, which would be invalid at once."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__(f"the key {key.id} has expired; give it a new day with --expires")


class UnknownKey(QuerymillError):
    """Raised when no key has an id."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no API key has the id {key_id!r}; `querymill keys list` shows the ids")


def are_required(settings: Settings) -> bool:
    """Return whether the settings require keys. A gateway that has names of its own is called by others."""
    return settings.querymill_keys_required or bool(settings.querymill_hosts)


def parts_of(written: str) -> tuple[str, str] | None:
    """Return the id and the secret of a key as it is written, or None if it is not written as a key is."""
    found = _WRITTEN.fullmatch(written)
    return (found["id"], found["secret"]) if found else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Keyring:
    """The keys on the board, for those who manage them."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """Open it at the settings' Redis URL."""
        return cls(open_commands(settings.redis_url, max_connections=CLIENT_COMMANDS))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def is_empty(self) -> bool:
        """Return whether no key was ever made."""
        return self._client.hlen(STORED_AT) == 0

    def add(
        self,
        name: str,
        *,
        scopes: Sequence[Scope],
        collections: Sequence[str],
        default_collection: str | None = None,
        requests_per_minute: int | None = None,
        concurrency: int | None = None,
        expires: float | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key. Return it with how it is written, which nobody can find out later.

        Raises:
            pydantic.ValidationError: A field breaks a rule.
        """
        key = ApiKey(
            id=secrets.token_hex(6),
            name=name,
            scopes=frozenset(scopes),
            collections=frozenset(collections),
            default_collection=default_collection,
            requests_per_minute=requests_per_minute,
            concurrency=concurrency,
            created=time.time(),
            expires=expires,
        )
        return self._with_new_secret(key, ())

    def all(self) -> list[ApiKey]:
        """Return every key, also the revoked ones, the oldest first."""
        stored: dict[str, str] = self._client.hgetall(STORED_AT)  # type: ignore[assignment]  # the client is synchronous
        return sorted((ApiKey.model_validate_json(text) for text in stored.values()), key=lambda key: key.created)

    def uses(self) -> dict[str, float]:
        """Return when a gateway last saw each key, by id, in seconds since the epoch, to the minute.

        Nothing is returned to a user of Valkey that may not read it.
        """
        try:
            kept: dict[str, str] = self._client.hgetall(USES_AT)  # type: ignore[assignment]  # the client is synchronous
        except redis.exceptions.NoPermissionError:
            return {}
        return {key_id: int(minute) * 60.0 for key_id, minute in kept.items() if minute.isdigit()}

    def rotate(
        self, key_id: str, *, grace_s: float = GRACE_S, expires: float | None = None
    ) -> tuple[ApiKey, str]:  # fmt: skip
        """Give a key a new secret, and a new end if ``expires`` says one. The old secrets stay valid for ``grace_s``.

        Raises:
            UnknownKey: No key has this id, or it is revoked.
            KeyIsExpired: It has expired, and gets no new end.
        """
        key = self._find(key_id)
        if key.revoked is not None:
            raise UnknownKey(key_id)
        now = time.time()
        key = key if expires is None else key.model_copy(update={"expires": expires})
        if key.is_expired(now):
            raise KeyIsExpired(key)
        ends = now + grace_s
        kept = [each for each in key.secrets if each.until is None or each.until > now]
        old = tuple(Secret(digest=each.digest, until=min(each.until or ends, ends)) for each in kept)
        return self._with_new_secret(key, old if grace_s > 0 else ())

    def revoke(self, key_id: str) -> ApiKey:
        """Make a key invalid at once. Its id stays known, for the audit.

        Raises:
            UnknownKey: No key has this id.
        """
        key = self._find(key_id).model_copy(update={"revoked": time.time(), "secrets": ()})
        self._store(key)
        return key

    def _find(self, key_id: str) -> ApiKey:
        stored = self._client.hget(STORED_AT, key_id)
        if not isinstance(stored, str):
            raise UnknownKey(key_id)
        return ApiKey.model_validate_json(stored)

    def _with_new_secret(self, key: ApiKey, old: tuple[Secret, ...]) -> tuple[ApiKey, str]:
        secret = secrets.token_urlsafe(32)
        # Gateways of earlier releases know nothing of a key's end, but know that of a secret.
        made = key.model_copy(update={"secrets": (Secret(digest=_digest(secret), until=key.expires), *old)})
        self._store(made)
        return made, f"qm_{made.id}_{secret}"

    def _store(self, key: ApiKey) -> None:
        self._client.hset(STORED_AT, key.id, key.model_dump_json())
