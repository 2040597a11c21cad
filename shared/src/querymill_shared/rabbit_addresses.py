"""Addresses of RabbitMQ: the parameters that they may have, and what those of TLS say."""

import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

_SCHEMES: Final = ("amqp://", "amqps://", "pyamqp://")
_ON_TLS: Final = "amqps://"
#: Files that a parameter of TLS may name, by the name that it has in addresses of Redis, too.
_FILES: Final = {"ssl_ca_certs": "ca_certs", "ssl_certfile": "certfile", "ssl_keyfile": "keyfile"}
_VERIFIED: Final = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_CHECKED: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
#: What kombu itself reads.
_OF_KOMBU: Final[Sequence[str]] = ("connect_timeout", "heartbeat", "login_method")
RULE: Final = (
    "may have, with amqps://, the parameters ssl_ca_certs, ssl_certfile, ssl_keyfile (paths), ssl_cert_reqs"
    " (none, optional, required) and ssl_check_hostname (true, false), the same in each of several addresses, and"
    f" {', '.join(_OF_KOMBU)}"
)


class _NameOfEach(dict[str, Any]):
    """Options of TLS in which kombu fills in the name of each of several servers. It would keep the first one's."""

    def __getitem__(self, name: str) -> Any:
        return None if name == "server_hostname" else super().__getitem__(name)


def is_rabbit(url: str) -> bool:
    """Return whether an address leads to RabbitMQ."""
    return url.startswith(_SCHEMES)


def split_tls(urls: str) -> tuple[str, Mapping[str, Any] | None]:
    """Return addresses, joined by semicolons, without the parameters of TLS, and what these say in amqp's own words.

    That is None if TLS is not used. The certificate of the server must be valid for its name unless they say otherwise.

    Raises:
        ValueError: They break `RULE`.
    """
    found = [_split(url) for url in urls.split(";")]
    options = [said for _, said in found]
    if any(said != options[0] for said in options):
        raise ValueError(RULE)
    return ";".join(url for url, _ in found), options[0]


def _split(url: str) -> tuple[str, _NameOfEach | None]:
    place, _, query = url.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    kept: dict[str, str] = {name: parameters.pop(name) for name in _OF_KOMBU if name in parameters}
    bare = f"{place}?{urlencode(kept)}" if kept else place
    if not url.startswith(_ON_TLS):
        if parameters:
            raise ValueError(RULE)
        return bare, None
    verified = _VERIFIED.get(parameters.pop("ssl_cert_reqs", "required").lower().removeprefix("cert_"))
    checked = _CHECKED.get(parameters.pop("ssl_check_hostname", "true").lower())
    files = {_FILES[name]: parameters.pop(name) for name in list(parameters) if name in _FILES}
    if parameters or verified is None or checked is None or not all(files.values()):
        raise ValueError(RULE)
    named = {"server_hostname": None} if checked and verified != ssl.CERT_NONE else {}
    return bare, _NameOfEach({"cert_reqs": verified, **files, **named})
