"""For the backend that is called back: is a message from the mill, and what does it say?

    message = querymill.webhooks.verify(body, headers, secret=os.environ["QUERYMILL_CALLBACK_SECRET"])
    if message.data.state == "done":
        result = mill.job(message.data.job_id).result()

The same message may come twice: `message.id` is the same then.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import TypeAdapter, ValidationError

from querymill_shared.contracts.callbacks import EndedJob, JobEndedMessage
from querymill_shared.contracts.errors import QuerymillError
from querymill_shared.contracts.fields import from_board
from querymill_shared.webhooks import ID, fault_of, read_secret

__all__ = ["EndedJob", "JobEndedMessage", "UntrustedMessage", "verify"]

#: A message that was signed longer ago than this, in seconds, is not trusted: somebody may have kept it.
TOLERANCE_S: Final = 300.0
_MESSAGE: Final[TypeAdapter[JobEndedMessage]] = TypeAdapter(JobEndedMessage)


class UntrustedMessage(QuerymillError):
    """Raised when a message is not from the mill, is too old, or cannot be read. Answer it with 400."""


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    *,
    secret: str | Sequence[str],
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> JobEndedMessage:
    """Return what a callback says, if it is from the mill.

    Args:
        body: The body as it came, not as it was parsed.
        headers: The headers, in any case.
        secret: The secret, or several of which one must have signed, each as ``whsec_…``.
        tolerance_s: How far its time may be from now, in seconds.
        now: The time in seconds since the epoch; that of this machine unless given.

    Raises:
        UntrustedMessage: It is not, is too old, or cannot be read.
        ValueError: A secret is not written as one.
    """
    sent = body.encode() if isinstance(body, str) else body
    secrets = [read_secret(each) for each in ([secret] if isinstance(secret, str) else secret)]
    fault = fault_of(headers, sent, secrets, now=time.time() if now is None else now, tolerance_s=tolerance_s)
    if fault is not None:
        raise UntrustedMessage(f"the message is not to be trusted: {fault}")
    try:
        message = from_board(_MESSAGE, sent)
    except ValidationError:
        raise UntrustedMessage("the message is signed, but this release cannot read it") from None
    if message.id != next(value for name, value in headers.items() if name.lower() == ID):
        raise UntrustedMessage("the message is signed, but under the id of another")
    return message
