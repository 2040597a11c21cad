"""Signatures of Standard Webhooks: HMAC-SHA256 over id, time and body.

See https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Final

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # what each begins with
#: Bytes that a secret has.
MIN_SECRET, MAX_SECRET = 24, 64
_VERSION: Final = "v1"


def read_secret(written: str) -> bytes:
    """Return the bytes of a secret, which is written as ``whsec_`` and base64.

    Raises:
        ValueError: It is written otherwise, or too short or too long. The message does not repeat it.
    """
    rule = f"must be {SECRET_PREFIX} and {MIN_SECRET} to {MAX_SECRET} bytes in base64"
    if not written.startswith(SECRET_PREFIX):
        raise ValueError(rule)
    try:
        secret = b64decode(written.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        raise ValueError(rule) from None
    if not MIN_SECRET <= len(secret) <= MAX_SECRET:
        raise ValueError(rule)
    return secret


def written_secret(secret: bytes) -> str:
    """Return how a secret is written."""
    return SECRET_PREFIX + b64encode(secret).decode()


def signed(message_id: str, timestamp: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """Return the headers of a message: one signature for each secret that is valid now."""
    signatures = [signature(message_id, str(timestamp), body, secret) for secret in secrets]
    return {ID: message_id, TIMESTAMP: str(timestamp), SIGNATURE: " ".join(signatures)}


def signature(message_id: str, timestamp: str, body: bytes, secret: bytes) -> str:
    """Return the signature of a message by one secret."""
    content = f"{message_id}.{timestamp}.".encode() + body
    return f"{_VERSION},{b64encode(hmac.digest(secret, content, hashlib.sha256)).decode()}"


def fault_of(
    headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes], *, now: float, tolerance_s: float
) -> str | None:
    """Return why a message is not to be trusted, or None if it is. ``now`` is in seconds since the epoch."""
    found = {name.lower(): value for name, value in headers.items() if name.lower() in (ID, TIMESTAMP, SIGNATURE)}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not found.get(name)]
    if missing:
        return f"it has no header {missing[0]}"
    if not (found[TIMESTAMP].isascii() and found[TIMESTAMP].isdigit()) or len(found[TIMESTAMP]) > 15:
        return f"{TIMESTAMP} is no number of seconds"
    if abs(now - int(found[TIMESTAMP])) > tolerance_s:
        return f"{TIMESTAMP} is more than {tolerance_s:g} s from now"
    expected = [signature(found[ID], found[TIMESTAMP], body, secret).encode() for secret in secrets]
    given = [each.encode() for each in found[SIGNATURE].split()[:20]]
    matches = [hmac.compare_digest(each, right) for each in given for right in expected]
    return None if any(matches) else "no signature is right"
