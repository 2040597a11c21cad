"""Addresses of Sentinels, which know the primary of a Redis or Valkey: as `Settings` and Celery write them.

``sentinel://user:password@a:26379,b:26379/NAME/0?…`` names the Sentinels, then the primary as they know it and its
database. The user, the password and the parameters are those of an address of the server itself. Celery joins whole
addresses by semicolons: ``sentinel://a:26379;sentinel://b:26379/0?master_name=NAME``.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from querymill_shared.values import value

#: Schemes by what the servers and the Sentinels speak. Other libraries write them with a plus.
_PLAIN: Final = ("sentinel://", "redis+sentinel://")
_ON_TLS: Final = ("sentinels://", "rediss+sentinel://")
#: The name that Sentinel's own configuration gives to a primary, and its port.
_NAME, _PORT = "mymaster", 26_379
_SECRETS: Final = ("sentinel_username", "sentinel_password")
_PLACE: Final = re.compile(r"(?:(?P<user>.*)@)?(?P<hosts>[^@/]*)(?:/(?P<path>.*))?", re.DOTALL)
_HOST: Final = re.compile(r"(?:\[(?P<ip>[0-9a-fA-F:.]+)\]|(?P<name>[^\[\]:]+))(?::(?P<port>\d{1,5}))?")


@value
class SentinelAddress:
    """Where the Sentinels are, how they call the primary, and how a server is opened.

    ``server`` is an address whose host stands for that of the primary. ``user`` and ``password`` are those of the
    Sentinels, "" for none.
    """

    hosts: tuple[tuple[str, int], ...]
    name: str
    server: str
    has_tls: bool
    user: str = ""
    password: str = ""


def is_sentinel(urls: str) -> bool:
    """Return whether an address, or the first of several, names Sentinels."""
    return urls.startswith((*_PLAIN, *_ON_TLS))


def read_sentinel(urls: str) -> SentinelAddress:
    """Read an address. It may be one for kombu; see `for_kombu`.

    Raises:
        ValueError: It is not written as one.
    """
    has_tls = urls.startswith(_ON_TLS)
    user, hosts, path, query = _joined(urls)
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    first, _, last = path.strip("/").rpartition("/")
    name, db = (first, last) if last.isdigit() or not last else (path.strip("/"), "")
    name = parameters.pop("master_name", "") or unquote(name) or _NAME
    sentinel_user, sentinel_password = (parameters.pop(secret, "") for secret in _SECRETS)
    scheme = "rediss" if has_tls else "redis"
    server = f"{scheme}://{user and f'{user}@'}primary/{db or 0}"
    found = tuple(_read_host(host) for host in hosts.split(","))
    more = f"?{urlencode(parameters)}" if parameters else ""
    return SentinelAddress(found, name, server + more, has_tls, sentinel_user, sentinel_password)


def for_kombu(urls: str) -> str:
    """Return an address as one URL that kombu takes for one with a single host."""
    user, hosts, path, query = _joined(urls)
    scheme = "sentinels" if urls.startswith(_ON_TLS) else "sentinel"
    return f"{scheme}://{user and f'{user}@'}{quote(hosts, safe='')}/{path}{query and f'?{query}'}"


def _joined(urls: str) -> tuple[str, str, str, str]:
    """Return the user, the hosts, the path and the query of several addresses. The last that has one of them counts."""
    user, hosts, path, query = "", [], "", ""
    for url in urls.split(";"):
        if not is_sentinel(url) or url.startswith(_ON_TLS) != urls.startswith(_ON_TLS):
            raise ValueError("not all of the addresses are of Sentinels")
        place, _, said = url.partition("://")[2].partition("?")
        read = _PLACE.fullmatch(place)
        if read is None:
            raise ValueError("not an address of Sentinels")
        user, path, query = read["user"] or user, read["path"] or path, said or query
        hosts.append(unquote(read["hosts"]))
    return user, ",".join(hosts), path, query


def _read_host(text: str) -> tuple[str, int]:
    found = _HOST.fullmatch(text)
    if found is None or int(found["port"] or _PORT) > 65_535:
        raise ValueError("not a host and a port")
    return found["ip"] or found["name"], int(found["port"] or _PORT)
