"""How a request reaches a provider: directly, or through the proxy of the environment."""

from typing import Final

import httpx2

from querymill_shared.proxies import Proxy, proxy_of

_LIMITS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100)


class UnusableProxy(httpx2.ProxyError):
    """No call can be made through the proxy. The message names the setting and the remedy."""


class _Unusable(httpx2.BaseTransport):
    """Fails every request, so that a proxy that cannot be used costs the calls to its address and no more."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Fail.

        Raises:
            UnusableProxy: Always.
        """
        raise UnusableProxy(self._reason, request=request)


class _ThroughProxy(httpx2.HTTPTransport):
    """Sends requests through a proxy, and names it in the error if it does not let them through."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(proxy=httpx2.Proxy(proxy.url), limits=_LIMITS)
        self._proxy = proxy

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            ProxyError: There is no connection through the proxy.
        """
        try:
            return super().handle_request(request)
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            where = f"{self._proxy.setting}: {self._proxy.shown}"
            raise httpx2.ProxyError(f"no connection through the proxy ({where})", request=request) from error


def transport_to(url: str) -> httpx2.BaseTransport:
    """Return the transport for the requests to a URL. Never raises: a proxy that cannot be used fails the requests.

    The HTTP library would read the environment itself, but then a proxy with an unknown scheme would fail every client,
    and servers on this machine would be asked through the proxy.
    """
    proxy = proxy_of(url)
    if proxy is None:
        return httpx2.HTTPTransport(limits=_LIMITS)
    reason = proxy.fault()
    if reason is None:
        try:
            return _ThroughProxy(proxy)
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            reason = f"{proxy.setting}: cannot be used ({proxy.shown}, {type(error).__name__})"
    return _Unusable(reason)
