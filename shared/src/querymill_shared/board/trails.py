"""Trails: what stays of a job for a week after its result is gone. What it did, and no text of anybody.

A trail is written by the script that ends the job, at the same moment. It is JSON: the fields of the record that are no
text, each followed by its value, and for each step a list of its name and the fields `_FIELDS`, without the empty ones
at its end. That of a job that shared work has no steps, and leads to the trail of the job that did the work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_core import from_json

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import Picture, Record
from querymill_shared.board.replies import MALFORMED, picture_of
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.settings import Settings

#: The fields of a step in their order, as the script `trails` has them.
_FIELDS: Final = (
    "state", "attempt", "queued", "started", "ended", "life", "facts", "deaths", "failures", "outages", "conflicts",
    "pauses", "past",
)  # fmt: skip
#: What a record has, and a trail has no use for.
_REST: Final = {"open": "0", "deadline": "0", "lane": ""}


def kept_ms(settings: Settings) -> int:
    """Return for how long trails are kept, in ms; 0 if none are."""
    return int(settings.querymill_trail_days * 86_400_000)


def kept_in_a_shard(settings: Settings) -> int:
    """Return how many trails a shard keeps."""
    return -(-settings.querymill_trails // len(keys.SHARDS))


def trail(job_id: str) -> ScriptCall[Picture]:
    """Return what a job did, as a picture without its question, hits and result.

    Raises (when parsed):
        UnknownJob: It has no trail.
        UnreadableJob: Its trail is malformed.
    """

    def parse(returned: Sequence[str]) -> Picture:
        own, shared = returned
        if not own:
            raise UnknownJob(job_id)
        try:
            return _picture(job_id, own, shared)
        except MALFORMED as error:
            raise UnreadableJob(job_id, f"its trail is malformed ({type(error).__name__})") from error

    return ScriptCall("trail", keys.of_job(job_id, "trail"), [], parse)


def record_if_there(job_id: str) -> ScriptCall[Record | None]:
    """Return the record of a job as its own caller sees it, None if it has no trail or that cannot be read."""
    call = trail(job_id)

    def parse(returned: Sequence[str]) -> Record | None:
        try:
            return call.parse(returned).for_caller().record
        except (UnknownJob, UnreadableJob):
            return None

    return ScriptCall(call.script, call.keys, call.args, parse)


def _picture(job_id: str, own: str, shared: str) -> Picture:
    fields, steps = _read(own)
    if shared:
        worked, steps = _read(shared)
        fields = {name: worked[name] for name in ("accepted", "first") if name in worked} | fields
    record = {**_REST, **fields, "order": " ".join(step[0] for step in steps)}
    told = picture_of((_flat(record), _flat(_fields_of(steps)), (), ()), job_id, None)
    return replace(told, record=replace(told.record, is_trail=True))


def _read(written: str) -> tuple[dict[str, str], Sequence[Sequence[str]]]:
    flat, steps = from_json(written)
    return {name: str(value) for name, value in zip(flat[::2], flat[1::2], strict=True)}, steps


def _fields_of(steps: Sequence[Sequence[str]]) -> dict[str, str]:
    return {
        f"{name}.{field}": str(value)
        for name, *values in steps
        for field, value in zip(_FIELDS, values, strict=False)
        if value != ""
    }


def _flat(fields: Mapping[str, Any]) -> list[str]:
    return [part for pair in fields.items() for part in pair]
