"""Which proxy of the environment leads to an address, and why a proxy cannot be used.

Reads ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, in either case, as curl does. A server on this
machine is never asked through a proxy, because a proxy elsewhere cannot reach it.
"""

import importlib.util
import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from querymill_shared.urls import mask
from querymill_shared.values import value

#: What the HTTP client speaks with a proxy.
SCHEMES: Final = ("http", "https", "socks5", "socks5h")
_LOCAL_NAMES: Final = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_ENTRY: Final = re.compile(r"(?:(?P<scheme>[a-z]+)://)?(?P<host>\[[^]]*\]|[^:/]*)(?::(?P<port>\d+))?/?")


@value
class Proxy:
    """A proxy and the environment variable that names it. ``url`` may hold a password, ``shown`` does not."""

    setting: str
    url: str

    @property
    def shown(self) -> str:
        """The proxy without its password."""
        return mask(self.url)

    def place(self) -> tuple[str, int]:
        """Return the host and the port.

        Raises:
            ValueError: The URL names none that could be.
        """
        parts = urlsplit(self.url)
        if not re.fullmatch(r"[\w.:%-]+", parts.hostname or "") or parts.port == 0:
            raise ValueError("no host or port")
        return parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme, 1080)

    def fault(self) -> str | None:
        """Return why no call can be made through the proxy, with the remedy, or None if nothing speaks against it."""
        scheme = self.url.partition("://")[0].lower()
        if scheme not in SCHEMES:
            kinds = ", ".join(f"{name}://" for name in SCHEMES[:-1])
            remedy = "; write socks5:// if the proxy speaks it" if scheme.startswith("socks") else ""
            return f"{self.setting}: must begin with {kinds} or {SCHEMES[-1]}:// ({scheme}://){remedy}"
        try:
            self.place()
        except ValueError:
            return f"{self.setting}: must be {scheme}://host:port with a port from 1 to 65535 ({self.shown})"
        if scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
            return f"{self.setting}: {scheme}:// needs a package that is not installed; run pip install socksio"
        return None


def proxies() -> list[Proxy]:
    """Return the proxies that the environment names, or the system's if it names none."""
    return list(dict.fromkeys(proxy for scheme in ("http", "https", "all") if (proxy := _named(scheme))))


def proxy_of(url: str) -> Proxy | None:
    """Return the proxy that leads to a URL, or None if its server is asked directly."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    if not host or is_loopback(host) or any(_exempts(entry, parts.scheme, host, port) for entry in _exempt()):
        return None
    return _named(parts.scheme) or _named("all")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or its address."""
    name = host.lower().rstrip(".")
    address = _address(name)
    if address is None:
        return name in _LOCAL_NAMES or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _named(scheme: str) -> Proxy | None:
    url = getproxies().get(scheme, "").strip()
    if not url:
        return None
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    setting = next((name for name in names if os.environ.get(name)), "the system's proxy")
    return Proxy(setting, url if "://" in url else f"http://{url}")


def _exempt() -> Iterator[str]:
    return (entry for entry in re.split(r"[,;\s]+", getproxies().get("no", "").lower()) if entry)


def _exempts(entry: str, scheme: str, host: str, port: int | None) -> bool:
    """Return whether an entry of ``NO_PROXY`` names a server: by ``*``, a domain, an address or a network."""
    if entry == "*":
        return True
    address, network = _address(host), _network(entry)
    if network is not None:
        return address is not None and address in network
    found = _ENTRY.fullmatch(entry)
    if found is None or found["scheme"] not in (None, "all", scheme):
        return False
    if found["port"] and int(found["port"]) != (port or {"http": 80, "https": 443}.get(scheme)):
        return False
    network = _network(found["host"])
    if network is not None:
        return address is not None and address in network
    domain = found["host"].removeprefix("*").strip(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return ipaddress.ip_network(bare, strict=False)
    except ValueError:
        return None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is, also if it is written as 127.1 or 2130706433, or None if it is a name."""
    try:
        if re.fullmatch(r"[\d.]+", host):
            return ipaddress.IPv4Address(socket.inet_aton(host))
        address = ipaddress.ip_address(host.partition("%")[0])
    except (OSError, ValueError):
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address
