"""Read addresses of services (URLs and libpq's keyword strings) and show them without their secrets.

Only parts that are known not to be secret are shown: the scheme, the user's name, hosts, ports, the path, and the
parameters in `_SHOWN`. Everything else becomes ``***``. An address that cannot be read becomes ``***`` as a whole.
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from querymill_shared.sentinel_addresses import is_sentinel
from querymill_shared.values import value

HIDDEN = "***"

#: Parameters, in lower case, whose values are not secret.
_SHOWN = frozenset((
    "api-version", "appname", "application_name", "authmechanism", "authsource", "channel_binding",
    "client_encoding", "connect_timeout", "db", "dbname", "directconnection", "gssencmode", "heartbeat", "host",
    "hostaddr", "keepalives", "load_balance_hosts", "loadbalanced", "master_name", "maxpoolsize", "port", "protocol",
    "readpreference", "replicaset", "retrywrites", "service", "socket_connect_timeout", "socket_timeout", "ssl",
    "ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "sslmode", "sslnegotiation",
    "sslrootcert", "target_session_attrs", "tls", "tlscafile", "user", "username", "virtual_host", "w",
))  # fmt: skip
#: Parameters whose names are shown, but never their values.
_SECRET = frozenset((
    "access_key", "access_token", "api-key", "api_key", "apikey", "auth", "key", "passwd", "password", "pwd",
    "secret", "sentinel_password", "sslpassword", "token",
))  # fmt: skip
#: Schemes whose URLs name a user. In other URLs, such as those of models, the user part may be the secret.
_NAMED = ("postgresql", "postgres", "mongodb", "amqp", "amqps", "pyamqp")
#: Schemes whose user is shown if a password follows. Without one, the user part of a Redis URL may be the password.
_NAMED_WITH_PASSWORD = (*_NAMED, "redis", "rediss", "sentinel", "sentinels", "unix")

_SCHEME_CHARACTERS = f"{string.ascii_letters}{string.digits}+.-"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_URL = re.compile(rf"(?P<scheme>{_SCHEME})(?P<place>[^?#\s]*)(?:\?(?P<query>[^#\s]*))?(?P<fragment>#\S*)?")
_HOST = re.compile(r"(?:\[(?P<ip>[\w.:%]+)\]|(?P<name>[\w.%~-]*))(?::(?P<port>\d{1,5}))?")
_USER = re.compile(r"[\w.~%+-]*")
_PATH = re.compile(r"[\w.~%+/:*!$'(),-]*")
_VALUE = re.compile(r"[\w.~+/:*,\[\] -]*")
_KEYWORD = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?!')(?:[^\s\\]|\\.)*)(?=\s|\Z)", re.DOTALL)
_SECRET_IN_TEXT = re.compile(
    rf"(?<![\w-])([\w-]*(?:{'|'.join(sorted(_SECRET))}))\s*=\s*('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)", re.IGNORECASE
)

#: A host's name, or the path of a local socket, and its port if one is named.
Host = tuple[str, int | None]


@value
class Address:
    """An address, and how it is shown without its secrets.

    ``scheme`` is in lower case, or "" for a keyword string. ``hosts`` is empty if the address names none.
    """

    scheme: str
    hosts: tuple[Host, ...]
    path: str
    shown: str


def is_redis(url: str) -> bool:
    """Return whether a broker's URL leads to Redis or Valkey, whose lists are the queues."""
    return url.startswith(("redis://", "rediss://", "unix://")) or is_sentinel(url)


def has_alternates(urls: str) -> bool:
    """Return whether a broker has several addresses, among which Celery chooses. Those of Sentinels are one."""
    return ";" in urls and not is_sentinel(urls)


def mask(address: str) -> str:
    """Return an address without its secrets. One that cannot be read is hidden as a whole."""
    if not address:
        return ""
    read = read_address(address)
    return HIDDEN if read is None else read.shown


def mask_text(text: str) -> str:
    """Return a text, such as an error message, without the secrets of the addresses it quotes."""
    # Every text that is logged comes by, and hardly any quotes an address.
    if "://" in text or "@" in text:
        text = re.sub(r"\S+", lambda found: _mask_word(found[0]), text)
    return _SECRET_IN_TEXT.sub(rf"\1={HIDDEN}", text) if "=" in text else text


def read_address(text: str) -> Address | None:
    """Read a URL, several URLs joined by semicolons, or a keyword string. Return None if it is none of these."""
    urls = [_read_url(part) for part in re.split(rf";(?={_SCHEME})", text)]
    read = [url for url in urls if url is not None]
    if len(read) < len(urls):
        return _read_keywords(text)
    hosts = tuple(host for url in read for host in url.hosts)
    return Address(read[0].scheme, hosts, read[0].path, ";".join(url.shown for url in read))


def _read_url(text: str) -> Address | None:
    found = _URL.fullmatch(text)
    # An "@" after "?" or "#" may belong to a password that was not escaped, so any part could be secret.
    if found is None or "@" in f"{found['query']}{found['fragment']}":
        return None
    scheme = found["scheme"].removesuffix("://").lower()
    userinfo, at, place = found["place"].rpartition("@")
    names, slash, path = place.partition("/")
    hosts = _hosts(names.split(","))
    parameters = [part.partition("=")[::2] for part in (found["query"] or "").split("&") if part]
    named = _named_hosts({name: unquote(value) for name, value in parameters})
    if hosts is None or named is None or not _PATH.fullmatch(path):
        return None
    if scheme == "unix" or scheme.endswith("+socket"):
        hosts = ((f"/{unquote(path)}", None),)
    shown = found["scheme"] + (f"{_shown_user(scheme, userinfo)}@" if at else "") + names + slash + path
    query = "" if found["query"] is None else "?" + "&".join(_shown_parameters(parameters))
    return Address(scheme, named or hosts, path, shown + query + (f"#{HIDDEN}" if found["fragment"] else ""))


def _read_keywords(text: str) -> Address | None:
    pairs: list[tuple[str, str]] = []
    end = 0
    while found := _KEYWORD.match(text, end):
        value = found[2][1:-1] if found[2].startswith("'") else found[2]
        pairs.append((found[1], re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)))
        end = found.end()
    hosts = _named_hosts(dict(pairs))
    if not pairs or text[end:].strip() or hosts is None:
        return None
    return Address("", hosts, "", " ".join(_shown_parameters(pairs)))


def _hosts(names: Iterable[str]) -> tuple[Host, ...] | None:
    """Read hosts as written in a URL. Return None if one of them is not a host."""
    found = [_HOST.fullmatch(name) for name in names]
    read = [(host["ip"] or unquote(host["name"] or ""), host["port"]) for host in found if host is not None]
    if len(read) < len(found) or any(int(port or 0) > 65_535 for _, port in read):
        return None
    return tuple((name, None if port is None else int(port)) for name, port in read if name)


def _named_hosts(parameters: Mapping[str, str]) -> tuple[Host, ...] | None:
    """Read the hosts that libpq's parameters name. Return None if hosts and ports do not match."""
    names = [name for name in (parameters.get("hostaddr") or parameters.get("host") or "").split(",") if name]
    ports = (parameters.get("port") or "").split(",")
    if not all(re.fullmatch(r"\d{0,5}", port) and int(port or 0) <= 65_535 for port in ports):
        return None
    if names and len(ports) not in (1, len(names)):
        return None
    every = ports * len(names) if len(ports) == 1 else ports
    return tuple((name, int(port) if port else None) for name, port in zip(names, every, strict=False))


def _shown_user(scheme: str, userinfo: str) -> str:
    user, colon, _ = userinfo.partition(":")
    named = _NAMED_WITH_PASSWORD if colon else _NAMED
    if scheme.partition("+")[0] not in named or not _USER.fullmatch(user):
        return HIDDEN
    return f"{user}:{HIDDEN}" if colon else user


def _shown_parameters(parameters: Sequence[tuple[str, str]]) -> list[str]:
    return [_shown_parameter(name, value) for name, value in parameters]


def _shown_parameter(name: str, value: str) -> str:
    if name.lower() in _SHOWN and _VALUE.fullmatch(unquote(value)):
        return f"{name}={value}"
    return f"{name}={HIDDEN}" if name.lower() in _SECRET | _SHOWN else HIDDEN


def _mask_word(word: str) -> str:
    """Return a word without the secrets of the URL or the ``user:password@host`` in it."""
    before, separator, _ = word.partition("://")
    scheme = before[len(before.rstrip(_SCHEME_CHARACTERS)) :]
    if separator and scheme:
        start = len(before) - len(scheme)
        address = word[start:].rstrip("""'"`.,;:!?)]}>""")
        return word[:start] + mask(address) + word[start + len(address) :]
    user, colon, rest = word.partition(":")
    return f"{user}:{HIDDEN}@{rest.rpartition('@')[2]}" if colon and "@" in rest else word
