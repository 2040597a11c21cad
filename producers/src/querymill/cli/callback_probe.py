"""Whether callbacks could be sent from here: a secret signs them, and the listed hosts lead where they may."""

from collections.abc import Iterator

from querymill.cli.probing import DoctorFinding
from querymill_shared.callback_addresses import may_reach, read_address, resolved
from querymill_shared.settings import Settings


def callback_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Look at each listed origin, if any is. Nothing is sent to it."""
    origins = settings.querymill_callback_origins
    if origins and not settings.querymill_callback_secret.get_secret_value():
        mend = "QUERYMILL_CALLBACK_SECRET: is not set, so callbacks are refused: `openssl rand -base64 32` after whsec_"
        yield DoctorFinding("callbacks", f"{len(origins)} origins", ok=False, mend=mend)
    for origin in origins:
        fault = _fault(origin, settings)
        yield DoctorFinding("callbacks", origin, ok=fault is None, mend=fault or "")


def _fault(origin: str, settings: Settings) -> str | None:
    address = read_address(origin)
    try:
        found = resolved(address)
    except OSError:
        return f"QUERYMILL_CALLBACK_ORIGINS: {address.host} cannot be resolved from here"
    if any(may_reach(address.host, ip, settings.callback_networks) for ip in found):
        return None
    return f"QUERYMILL_CALLBACK_NETWORKS: lists no network of {address.host} ({', '.join(map(str, found[:3]))})"
