"""Whom the mill may tell that a job has ended."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings

from querymill_shared.callback_addresses import IpNetwork, read_origin
from querymill_shared.callback_secrets import read_masters


def _origin(entry: str) -> str:
    try:
        return read_origin(entry)
    except ValueError as error:
        raise PydanticCustomError("origin", "{rule}", {"rule": str(error)}) from None


def _network(entry: str) -> str:
    try:
        return str(ipaddress.ip_network(entry))
    except ValueError:
        raise PydanticCustomError("network", "must be networks such as 10.1.0.0/16") from None


def _masters(written: SecretStr) -> SecretStr:
    try:
        read_masters(written.get_secret_value())
    except ValueError as error:
        raise PydanticCustomError("secret", "{rule}", {"rule": str(error)}) from None
    return written


class CallbackSettings(BaseSettings):
    """Whom the mill may tell that a job has ended."""

    querymill_callback_origins: Annotated[
        list[Annotated[str, AfterValidator(_origin)]],
        Field(
            description="hosts, such as hooks.example, or origins, such as https://hooks.example:8443, that callbacks"
            " may call (JSON); one without TLS is listed as http://; empty: callbacks are refused",
        ),
    ] = []
    querymill_callback_networks: Annotated[
        list[Annotated[str, AfterValidator(_network)]],
        Field(
            description="networks that are not public, such as 10.1.0.0/16, in which those hosts may be (JSON)",
        ),
    ] = []
    querymill_callback_secret: Annotated[
        SecretStr,
        AfterValidator(_masters),
        Field(
            description="secret that signs callbacks, and from which those of API keys are made: whsec_ and 24 to 64"
            " bytes in base64; two, the new one first, while it is replaced",
        ),
    ] = SecretStr("")

    @property
    def callback_networks(self) -> list[IpNetwork]:
        """The listed networks."""
        return [ipaddress.ip_network(entry) for entry in self.querymill_callback_networks]
