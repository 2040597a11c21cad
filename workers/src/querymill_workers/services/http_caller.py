"""Telling addresses over HTTP: listed ones only, at a network address that was checked and is then the one called.

No redirect is followed, no proxy is asked, no body is read, and everything has a time limit. The certificate is that of
the host's name.
"""

import http
import ssl
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from threading import BoundedSemaphore
from typing import ClassVar, Final, Self

import httpx2
from typing_extensions import override

from querymill_shared.board import Cause
from querymill_shared.callback_addresses import (
    CallbackAddress,
    IpAddress,
    IpNetwork,
    is_listed,
    may_reach,
    read_address,
    resolved,
)
from querymill_shared.settings import Settings
from querymill_workers.inference.bounded import BoundedClient
from querymill_workers.inference.carrying import carry
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.services.ports import Answered, Caller
from querymill_workers.services.rules.callbacks import read_retry_after

#: Seconds that a call may take: its host's name is resolved, the connection made, the message sent and answered.
CALL_S: Final = 10.0
#: Calls of a process at once. Addresses that hang must leave the other threads of the queue to others.
AT_ONCE: Final = 8
#: Seconds that a message waits for its turn among those, and for which it is put off if that does not come.
TURN_S, PUT_OFF_S = 2.0, 5.0
#: Network addresses of a host that are tried.
TRIED: Final = 3
#: Of a reply nothing but its status and its headers is read.
_MAX_REPLY: Final = 1_000


class NoTurn(Unavailable):
    """Other calls have every place of this process."""

    cause: ClassVar[Cause] = "pause"
    code = "limit"


class HttpCaller(Caller):
    """Calls addresses at the listed origins, in public networks and the listed ones."""

    def __init__(self, origins: Sequence[str], networks: Sequence[IpNetwork], *, call_s: float = CALL_S) -> None:
        self._origins = origins
        self._networks = networks
        self._call_s = call_s
        self._turns = BoundedSemaphore(AT_ONCE)

    @classmethod
    def configured(cls, settings: Settings) -> Self:
        """Return one for the addresses of the settings."""
        return cls(settings.querymill_callback_origins, settings.callback_networks)

    @override
    def tell(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        """See `Caller.tell`.

        Raises:
            NoTurn: Other calls have every place of this process.
        """
        address = read_address(url)
        if not is_listed(address, self._origins):
            return Answered(said=f"{address.origin} is not listed in QUERYMILL_CALLBACK_ORIGINS")
        if not self._turns.acquire(timeout=TURN_S):
            raise NoTurn("other calls have every place of this worker", again_in_s=PUT_OFF_S)
        try:
            return self._tell(address, headers, body)
        finally:
            self._turns.release()

    def _tell(self, address: CallbackAddress, headers: Mapping[str, str], body: bytes) -> Answered:
        until = time.monotonic() + self._call_s
        try:
            found = carry(lambda: resolved(address), name="resolve").result(timeout=self._call_s)
        except (OSError, TimeoutError):
            return Answered(said=f"{address.host} cannot be resolved")
        allowed = [ip for ip in found if may_reach(address.host, ip, self._networks)]
        if not allowed:
            return Answered(said=f"{address.host} is in a network that QUERYMILL_CALLBACK_NETWORKS does not list")
        told = Answered(said="")
        for ip in allowed[:TRIED]:
            try:
                left_s = max(until - time.monotonic(), 0.1)
                return post(address, ip, headers, body, limit_s=left_s, trusted=authorities())
            except httpx2.TransportError as error:
                told = Answered(said=f"{address.origin}: {said_of(error)}")
                if not isinstance(error, httpx2.ConnectError):
                    break  # it may have come through: the message is sent again later, with the same id
        return told


def post(
    address: CallbackAddress, ip: IpAddress, headers: Mapping[str, str], body: bytes, *, limit_s: float,
    trusted: ssl.SSLContext,
) -> Answered:  # fmt: skip
    """Send a message to a host at one of its network addresses.

    Raises:
        httpx2.TransportError: It did not answer, or with no HTTP.
    """
    place = f"[{ip}]" if ip.version == 6 else str(ip)
    sent = {
        **headers,
        "Host": address.authority,
        "Content-Type": "application/json",
        "User-Agent": f"querymill/{version('querymill-workers')}",
    }
    # A connection of its own: one that is kept could belong to another name at this address.
    transport = httpx2.HTTPTransport(verify=trusted, trust_env=False)
    with BoundedClient(transport=transport, timeout_s=limit_s, max_bytes=_MAX_REPLY) as client:
        request = client.build_request(
            "POST",
            f"{address.scheme}://{place}:{address.port}{address.target}",
            content=body,
            headers=sent,
            extensions={"sni_hostname": address.host},
        )
        answer = client.send(request, stream=True)
        try:
            after_s = read_retry_after(answer.headers.get("retry-after", ""))
            return Answered(
                answer.status_code, f"{address.origin} answered {shown_status(answer.status_code)}", after_s
            )
        finally:
            answer.close()


def shown_status(status: int) -> str:
    """Return a status with its name."""
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def said_of(error: httpx2.TransportError) -> str:
    """Return what went wrong, without what the other side sent."""
    match error:
        case httpx2.TimeoutException():
            return "no answer in time"
        case httpx2.ConnectError():
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, ssl.SSLError):
                cause = cause.__cause__ or cause.__context__
            return "its certificate is not trusted" if isinstance(cause, ssl.SSLError) else "no connection"
        case _:
            return f"the connection broke ({type(error).__name__})"


@cache
def authorities() -> ssl.SSLContext:
    """Return how certificates are checked: by the usual authorities, or those that SSL_CERT_FILE names."""
    return httpx2.create_ssl_context()
