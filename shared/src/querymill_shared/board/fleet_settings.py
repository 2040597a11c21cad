"""What the workers of a fleet have set: by that, a further host learns what its workers need. No secret is shared."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import redis
from pydantic import SecretStr
from pydantic_core import to_json

from querymill_shared.board import keys
from querymill_shared.settings import Settings
from querymill_shared.values import value

#: The field beside those of the worker processes. No process has this name.
_FIELD: Final = "#settings"
#: What each process or gateway sets for itself, and the address by which the others are learned.
_OWN: Final = frozenset({
    "redis_url", "querymill_metrics_port", "querymill_metrics_host", "querymill_hosts", "querymill_keys_required",
    "querymill_cors_origins", "querymill_console_hide_questions", "querymill_document_folders",
    "querymill_gateway_waiting", "querymill_log_level",
})  # fmt: skip


@value
class SharedSetting:
    """A setting of the fleet: as it is shown, and whether a secret is left out of that."""

    shown: str
    hides_a_secret: bool


def publish(client: redis.Redis, settings: Settings) -> None:
    """Share with the fleet what this process has set."""
    shared = {name.upper(): _shared(settings, name) for name in sorted(settings.model_fields_set - _OWN)}
    written = {name: [each.shown, each.hides_a_secret] for name, each in shared.items() if each.shown}
    client.hset(keys.ABOUT_WORKERS, _FIELD, json.dumps(written))


def read_shared(client: redis.Redis) -> Mapping[str, SharedSetting]:
    """Return the settings of the worker that started last, by their names; {} if none has shared any."""
    written: Any = client.hget(keys.ABOUT_WORKERS, _FIELD)
    found = {}
    with suppress(ValueError, TypeError):
        for name, (shown, hides) in json.loads(written).items():
            found[str(name)] = SharedSetting(str(shown), bool(hides))
    return found


def _shared(settings: Settings, name: str) -> SharedSetting:
    plain = getattr(settings, name)
    text = plain.get_secret_value() if isinstance(plain, SecretStr) else plain
    if not isinstance(text, str):
        return SharedSetting("" if text is None else to_json(text).decode(), hides_a_secret=False)
    shown = settings.shown(name)
    return SharedSetting(shown, hides_a_secret=shown != text)
