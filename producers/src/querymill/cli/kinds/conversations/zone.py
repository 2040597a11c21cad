"""The time zone of this machine: "yesterday" is that of the person who asks."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from querymill_shared.contracts.conversations.search import zone_named

#: A link to the zone's file, below a folder of this name.
LOCALTIME: Final = Path("/etc/localtime")
_ZONES: Final = "zoneinfo"
_UTC: Final = frozenset({"UTC", "Etc/UTC", "Universal", "Zulu"})


def in_zone(given: dict[str, Any], *, with_file: bool) -> dict[str, Any]:
    """Return the fields with the machine's zone, unless they or a request file say another."""
    zone = None if with_file or "time_zone" in given else machine_zone(os.environ)
    return given if zone is None else given | {"time_zone": zone}


def machine_zone(environment: Mapping[str, str], *, localtime: Path = LOCALTIME) -> str | None:
    """Return the name of the machine's time zone, or None if that is UTC or has no known name.

    Args:
        environment: Its TZ comes first, as everywhere on Unix.
        localtime: What the machine has linked to its zone.
    """
    name = environment.get("TZ", "").removeprefix(":") or _linked(localtime)
    if name is None or name in _UTC:
        return None
    try:
        zone_named(name)
    except ValueError:
        return None  # such as CET-1CEST, which names no place
    return name


def _linked(localtime: Path) -> str | None:
    try:
        parts = localtime.resolve().parts
    except (OSError, RuntimeError):
        return None
    return "/".join(parts[parts.index(_ZONES) + 1 :]) if _ZONES in parts else None
