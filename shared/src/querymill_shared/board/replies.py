"""How the server's replies are read: a job as a picture, its events, and lists of jobs and collections."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

import redis
from pydantic import ValidationError
from pydantic_core import from_json

from querymill_shared.board.labels import read_labels
from querymill_shared.board.picture import JobState, Picture, Record, SetbackCounts, Step
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob, broken_rules
from querymill_shared.contracts.events import Event, decode_event
from querymill_shared.contracts.jobs import JobRequest, decode_request
from querymill_shared.hits import PackedHits

#: What reading a record raises that another program has written: a field is missing, or no such value or number.
MALFORMED: Final = (KeyError, ValueError, TypeError, AttributeError, OverflowError)
_STATES: Final = get_args(JobState)
#: A step that was never put back, as nearly all are.
_NEVER: Final = SetbackCounts()
#: The fields of a step that count, after its name: those of `SetbackCounts` in their order.
_COUNTED: Final = tuple(f".{part.name}" for part in dataclasses.fields(SetbackCounts))


def counts_of(numbers: Sequence[str | None]) -> SetbackCounts:
    """Return why a step was put back, from the numbers of its fields."""
    return SetbackCounts(*(int(number or 0) for number in numbers)) if any(numbers) else _NEVER


def request_of(text: str) -> tuple[JobRequest | None, str]:
    """Read a request. If that fails, return None and the rules it breaks, without quoting it."""
    try:
        return decode_request(text), ""
    except ValidationError as error:
        return None, broken_rules(error)


def pairs(flat: Sequence[str]) -> dict[str, str]:
    """Return a hash that a script returned as names and values in turn."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _seconds(ms: str | None) -> float | None:
    return int(ms) / 1000 if ms and int(ms) else None


def picture_of(returned: Sequence[Any], job_id: str, request: JobRequest | None) -> Picture:
    """Return a job as its record, steps, hits and queries show it, each as names and values in turn.

    Raises:
        UnknownJob: There is no record.
        KeyError, ValueError, TypeError, AttributeError, OverflowError: The record is malformed (`MALFORMED`).
    """
    record, steps, hits, queries = (pairs(part) for part in returned)
    if not record:
        raise UnknownJob(job_id)
    return Picture(
        record=record_of(record, job_id),
        steps=_steps(steps, record),
        hits=PackedHits(hits),
        queries=queries,
        request=request,
        asked=request,
        queues=dict(pair.split("=", 1) for pair in record.get("queues", "").split() if "=" in pair),
    )


def is_version(accepted_us: str) -> bool:
    """Tell whether a text is a version: whole µs since the epoch, which the board's scripts count exactly."""
    return accepted_us.isdecimal() and int(accepted_us) <= 2**53


def accepted_s(created_ms: str, accepted_us: str) -> float:
    """Return when a job was accepted, in seconds since the epoch, to the µs if its version tells the same moment."""
    is_moment = accepted_us and int(accepted_us) // 1000 == int(created_ms)
    return int(accepted_us) / 1_000_000 if is_moment else int(created_ms) / 1000


def record_of(fields: Mapping[str, str], job_id: str) -> Record:
    """Read the record of a job. That of a follower has no state once the job is gone whose work it shares.

    Raises:
        KeyError, ValueError, TypeError, AttributeError, OverflowError: The record is malformed (`MALFORMED`).
    """
    state = fields["state"]
    if state not in _STATES:
        raise ValueError(f"{state!r} is no state of a job")
    return Record(
        job_id=job_id,
        kind=fields["kind"],
        collection=fields["collection"],
        lane=fields["lane"],
        state=state,  # type: ignore[arg-type]  # it is one of them
        created=int(fields["created"]) / 1000,
        deadline=_seconds(fields["deadline"]),
        ended=_seconds(fields.get("ended")),
        reason=fields.get("reason", ""),
        open_steps=int(fields["open"]),
        told=_seconds(fields.get("told")),
        leader=fields.get("leader", ""),
        callers=max(1, int(fields.get("callers", 0))),
        left=_seconds(fields.get("left")),
        is_released=bool(fields.get("released")),
        code=fields.get("code", ""),
        is_complete=not fields.get("lacks"),
        labels=read_labels(fields.get("labels")),
        owner=fields.get("owner", ""),
        callback=fields.get("callback", ""),
        deliveries=tuple(fields.get("deliveries", "").split()),
    )


def _steps(fields: Mapping[str, str], record: Mapping[str, str]) -> tuple[Step, ...]:
    names = record["order"].split()
    # The first steps of a job are queued when it is accepted. Its field "created" may be a follower's.
    accepted, first = record.get("accepted"), int(record.get("first", 0))
    since = int(accepted) / 1_000_000 if accepted else None
    return tuple(
        Step(
            name=name,
            state=fields[f"{name}.state"],  # type: ignore[arg-type]  # only the scripts of this package write it
            attempt=int(fields[f"{name}.attempt"]),
            reason=fields.get(f"{name}.reason", ""),
            counts=counts_of([fields.get(name + counted) for counted in _COUNTED]),
            started=_seconds(fields.get(f"{name}.started")),
            ended=_seconds(fields.get(f"{name}.ended")),
            notes=from_json(fields.get(f"{name}.notes") or "{}"),
            queued=_seconds(fields.get(f"{name}.queued")) or (since if place < first else None),
            life=fields.get(f"{name}.life", ""),
            facts=fields.get(f"{name}.facts", ""),
            past=fields.get(f"{name}.past", ""),
        )
        for place, name in enumerate(names)
    )


def unreadable(job_id: str, error: redis.ResponseError) -> Exception:
    """Return the error of a job one of whose keys has a type that only another program can have given it."""
    return UnreadableJob(job_id, "its record is malformed (WRONGTYPE)") if is_written_over(error) else error


def stream_entries(returned: Any) -> list[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Return what a read of streams found: the streams, each with its entries (id and fields)."""
    streams = returned.items() if isinstance(returned, dict) else returned or []
    return [(stream, _flat(entries)) for stream, entries in streams if entries]


def _flat(entries: Any) -> list[Any]:
    # Version 3 of the protocol puts the entries of a stream into one more list.
    return entries[0] if len(entries) == 1 and isinstance(entries[0], list) else list(entries)


def events_of(entries: Sequence[tuple[str, Any]]) -> list[tuple[str, Event]]:
    """Read the events. Those that only another release knows are left out."""
    read = [(event_id, decode_event(fields.get("body", ""))) for event_id, fields in entries]
    return [(event_id, event) for event_id, event in read if event is not None]


def is_written_over(reply: object) -> bool:
    """Whether a command was refused because another program wrote a key of another type there."""
    return isinstance(reply, redis.ResponseError) and "WRONGTYPE" in str(reply)


def sound(replies: Sequence[Any]) -> list[Any]:
    """Return what was read, and an empty tuple in the place of what another program has written over.

    Raises:
        redis.RedisError: One could not be read for another reason.
    """
    for reply in replies:
        if isinstance(reply, Exception) and not is_written_over(reply):
            raise reply
    return [() if isinstance(reply, Exception) else reply for reply in replies]


def newest(shards: Sequence[Sequence[tuple[str, float]]], limit: int) -> list[str]:
    """Return the ids with the highest scores of all shards."""
    jobs = sorted((entry for shard in shards for entry in shard), key=lambda entry: -entry[1])
    return [job_id for job_id, _ in jobs[:limit]]


def of_kind(fields: Any, kind: str) -> set[str]:
    """Return the collections among the fields "kind/collection" that hold something of a kind."""
    return {field.removeprefix(f"{kind}/") for field in fields if field.startswith(f"{kind}/")}
