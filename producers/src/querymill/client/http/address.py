"""Which gateway a client calls, by which key, through which proxy."""

import re
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.proxies import proxy_of

#: Connecting takes so long at most, and sending a part of a body, in seconds.
CONNECT_S: Final = 5.0
SEND_S: Final = 30.0
_KEY: Final = re.compile(r"[!-~]{1,500}")


class Address:
    """A gateway as callers name it. Its ``repr`` and its text hold no key.

    Raises:
        InvalidRequest: The URL or the key breaks a rule.
    """

    def __init__(self, url: str, api_key: str | None) -> None:
        self.url = _checked(url)
        if api_key is not None and _KEY.fullmatch(api_key) is None:
            raise InvalidRequest(("api_key", "must be 1 to 500 visible characters, as `querymill keys add` printed it"))
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}

    def __repr__(self) -> str:
        return f"Address({self.url!r})"

    def open(self) -> httpx2.AsyncClient:
        """Open a client of this gateway, through the proxy that the environment names, if any.

        It trusts the authorities that the environment names (``SSL_CERT_FILE``), follows no redirect, and has as many
        connections as callers wait.

        Raises:
            InvalidRequest: The proxy of the environment cannot be used.
        """
        proxy = proxy_of(self.url)
        fault = proxy and proxy.fault()
        if fault:
            raise InvalidRequest(("url", f"no way leads to it: {fault}"))
        options: dict[str, Any] = {"trust_env": False, "limits": httpx2.Limits(max_connections=None)}
        return httpx2.AsyncClient(
            base_url=self.url,
            headers=self._headers,
            proxy=None if proxy is None else proxy.url,
            verify=httpx2.create_ssl_context(trust_env=True),
            timeout=httpx2.Timeout(CONNECT_S, write=SEND_S, pool=None),
            **options,
        )


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_whole = False
    if not is_whole:
        raise InvalidRequest(("url", "must be the address of a gateway, such as https://mill.example.org"))
    if parts.username is not None or parts.password is not None:
        raise InvalidRequest(("url", "must hold no user and no password: give the key as api_key"))
    if parts.query or parts.fragment:
        raise InvalidRequest(("url", "must end with its path: no ? and no #"))
    return url.rstrip("/")
