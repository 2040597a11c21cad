"""The time zone and the locale of this machine: "yesterday" and 3/4 are those of the person who asks."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from querymill_shared.contracts.conversations.search import zone_named

#: A link to the zone's file, below a folder of this name.
LOCALTIME: Final = Path("/etc/localtime")
#: A language with its country, such as de_AT. Machines have C, POSIX and en_US from the start, anywhere in the world.
_LOCALE: Final = re.compile("(?!en_US)[a-z]{2,3}_[A-Z]{2}")
_ZONES: Final = "zoneinfo"
_UTC: Final = frozenset({"UTC", "Etc/UTC", "Universal", "Zulu"})


def in_zone(given: dict[str, Any], *, with_file: bool) -> dict[str, Any]:
    """Return the fields with the machine's zone and locale, unless they or a request file say others."""
    if with_file:
        return given
    own = {"time_zone": machine_zone(os.environ), "locale": machine_locale(os.environ)}
    return {name: value for name, value in own.items() if value is not None} | given


def machine_locale(environment: Mapping[str, str]) -> str | None:
    """Return the locale in which the machine writes times, or None if it says nothing of the person who asks."""
    written = next((environment[name] for name in ("LC_ALL", "LC_TIME", "LANG") if environment.get(name)), "")
    name = re.split("[.@]", written)[0]
    return name if _LOCALE.fullmatch(name) else None


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
