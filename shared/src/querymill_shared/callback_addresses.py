"""Which addresses callbacks may reach: listed origins, at public network addresses unless a network is listed.

Only what is written plainly is read, so that no two readers of an address can take it for different hosts.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from typing import Final

from querymill_shared.proxies import is_loopback
from querymill_shared.values import value

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = r"(?P<host>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
_URL: Final = re.compile(rf"(?P<scheme>https?)://{_HOST}(?P<target>/[!$%&'()*+,./:;=?@_~a-z0-9\[\]-]*)?", re.IGNORECASE)
_ORIGIN: Final = re.compile(rf"(?:(?P<scheme>https?)://)?{_HOST}/?", re.IGNORECASE)
#: What is read, but for the port and the address in brackets, as JSON schemas have patterns.
URL_PATTERN: Final = r"^https?://([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(/[!$%&'()*+,./:;=?@_~A-Za-z0-9\[\]-]*)?$"
#: Addresses of the IPv6 internet that stand for those of IPv4: the last 32 bits are the other one.
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


@value
class CallbackAddress:
    """An address that is told of jobs. ``host`` is a name or a network address, ``target`` is path and query."""

    scheme: str
    host: str
    port: int
    target: str = "/"

    @property
    def origin(self) -> str:
        """Scheme, host and port, each written in one way."""
        return f"{self.scheme}://{self._bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """What a request names as its host: without the port that its scheme has anyway."""
        return self._bracketed if self.port == _PORTS[self.scheme] else f"{self._bracketed}:{self.port}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def shown(self) -> str:
        """The address without its query and, but for the beginning, its path: either may be a secret."""
        return self.origin if self.target == "/" else f"{self.origin}/…"


def read_address(url: str) -> CallbackAddress:
    """Read an address that is told of jobs.

    Raises:
        ValueError: It is no URL with a host, or has a user, a fragment or characters that must be escaped.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise ValueError("must be https://host/path, escaped, without a user and a fragment")
    return _address(found, found["scheme"].lower(), found["target"] or "/")


def read_origin(entry: str) -> str:
    """Return an entry of the list of origins as `CallbackAddress.origin` writes it. Without a scheme it is https.

    Raises:
        ValueError: It is neither a host nor an origin.
    """
    found = _ORIGIN.fullmatch(entry)
    if found is None:
        raise ValueError("must be hosts such as hooks.example, or origins such as https://hooks.example:8443")
    return _address(found, (found["scheme"] or "https").lower(), "/").origin


def _address(found: re.Match[str], scheme: str, target: str) -> CallbackAddress:
    port = int(found["port"] or _PORTS[scheme])
    host = found["host"].lower().strip("[]")
    if not 1 <= port <= 65_535:
        raise ValueError("must have a port from 1 to 65535")
    if ":" in host:
        host = _shortest(host)
    return CallbackAddress(scheme, host, port, target)


def _shortest(written: str) -> str:
    """Return an address of IPv6 as it is written in one way."""
    try:
        return str(ipaddress.IPv6Address(written))
    except ValueError:
        raise ValueError("must have an address of IPv6 in its brackets") from None


def is_listed(address: CallbackAddress, origins: Iterable[str]) -> bool:
    """Return whether an address is at one of the listed origins."""
    return any(read_origin(entry) == address.origin for entry in origins)


def may_reach(host: str, ip: IpAddress, networks: Sequence[IpNetwork]) -> bool:
    """Return whether a listed host may be reached at a network address to which its name leads.

    It may if the address is one of the public internet, or in a listed network. A host that is listed as an address, or
    as this machine, is meant as that.
    """
    meant = plain_ip(ip)
    if any(meant in network for network in networks if network.version == meant.version):
        return True
    if literal_of(host) == meant or (is_loopback(host) and meant.is_loopback):
        return True
    return is_public(meant)


def resolved(address: CallbackAddress) -> list[IpAddress]:
    """Return the network addresses of a host, each once.

    Raises:
        OSError: It has none.
    """
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))


def is_public(ip: IpAddress) -> bool:
    """Return whether an address is one of the public internet, and not that of a group."""
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def plain_ip(ip: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 address stands for, if it does for one."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip


def literal_of(host: str) -> IpAddress | None:
    """Return the address that a host is written as, or None if it is a name."""
    try:
        return plain_ip(ipaddress.ip_address(host))
    except ValueError:
        return None
