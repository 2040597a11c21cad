"""What the fleet did in each minute of the last day, on the board: one record a minute, the same for all who read it.

The elected sweeper keeps the records, in a stream whose ids are minutes of the board's clock. A record has the queues
as they were at its moment, and what was counted since the record before it. A script keeps it together with the totals
that the next one is compared with, and only if no other record came between, so nothing is counted twice or left out.

A record has the labels that this release knows, and those that counted something: 1 to 2 kB, and never more than
`MAX_RECORD_BYTES`. So a day takes some 2 MB of the board's memory, and at most 23.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

import redis
from redis.exceptions import NoScriptError

from querymill_shared import counters
from querymill_shared.board import clock, keys, lives
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.counts import BOUNDS, read_totals
from querymill_shared.board.queue_work import QueueWork, read_work
from querymill_shared.board.scripts import command_of, source
from querymill_shared.metrics import LABELLED, VALUES
from querymill_shared.queues import Queue
from querymill_shared.values import value

#: The stream of records, and the totals that the next record is compared with: in the slot of the board's clock.
HISTORY: Final = f"{keys.prefix('0')}history"
TOTALS: Final = f"{HISTORY}:totals"
#: Records are kept for a day, in minutes.
MINUTES: Final = 1_440
#: A record with every label, and a million of each, has fewer bytes.
MAX_RECORD_BYTES: Final = 16_000


def _names() -> Iterator[str]:
    """Yield the names of what is counted by the minute."""
    bounds = (*(f"{bound:g}" for bound in BOUNDS), "inf")
    labels: dict[str, Iterable[Iterable[str]]] = {
        "submitted": (VALUES["kind"],),
        "ended": (VALUES["kind"], VALUES["state"]),
        "incomplete": (VALUES["kind"],),
        "took": (VALUES["kind"], bounds),
        "took_ms": (VALUES["kind"],),
        **{
            name: [VALUES[label] for label in LABELLED[name][1]]
            for name in ("steps_run", "provider_calls", "provider_tokens", "processor_ms")
        },
    }
    for name, values in labels.items():
        yield from ("/".join((name, *chosen)) for chosen in product(*values))


COUNTED: Final = frozenset(_names())


@value
class Minute:
    """The queues at a time (s, by the board's clock), and what was counted in the ``passed_s`` seconds before it.

    ``counted`` has names as `COUNTED`. ``passed_s`` is about 60, more after a time without workers, and 0 if nothing is
    known of the time before.
    """

    at: float
    passed_s: float
    queues: tuple[QueueWork, ...]
    counted: Mapping[str, int]


def keep_minute(client: redis.Redis) -> bool:
    """Keep what the fleet did until this minute, unless that was kept. Return whether it was kept now."""
    pipeline: Any = client.pipeline(transaction=False)
    pipeline.xrevrange(HISTORY, count=1)
    pipeline.get(TOTALS)
    clock.ask(pipeline)
    listed, totals, server, noted = pipeline.execute(raise_on_error=False)
    now = clock.board_s(server, noted)
    former = next((_text(entry_id) for entry_id, _ in listed), "") if isinstance(listed, list) else ""
    minute = int(now) // 60
    if former == f"{minute}-0":
        return False
    before_at, before = _read_totals(totals)
    counted = _count(client)
    queues = read_work(client, lives.read_lives(client))
    since = _differences(before, counted) if before_at else {}
    record = {
        "at": round(now, 3),
        "passed_s": round(now - before_at, 3) if before_at else 0,
        "queues": {work.queue: [work.waiting, work.running, work.slots, _rounded(work.oldest_s)] for work in queues},
        "counted": _nested(since),
    }
    return _run(client, _kept(former, minute, record, {"at": record["at"], "counted": counted}))


def read_minutes(client: redis.Redis, limit: int = MINUTES) -> list[Minute]:
    """Return the last ``limit`` minutes, the earliest first. One in which no worker lived is not among them."""
    pipeline: Any = client.pipeline(transaction=False)
    clock.ask(pipeline)
    pipeline.xrevrange(HISTORY, count=limit)
    server, noted, listed = pipeline.execute(raise_on_error=False)
    since = clock.board_s(server, noted) - (limit + 1) * 60  # the minute that has begun may not be kept yet
    found = [_read_minute(fields) for _, fields in listed] if isinstance(listed, list) else []
    return [minute for minute in reversed(found) if minute is not None and minute.at > since]


def total(minutes: Iterable[Minute]) -> Counter[str]:
    """Return what was counted in some minutes together."""
    counted = Counter[str]()
    for minute in minutes:
        counted.update(minute.counted)
    return counted


def _kept(former: str, minute: int, record: Mapping[str, Any], totals: Mapping[str, Any]) -> ScriptCall[bool]:
    oldest, ttl_ms = minute - MINUTES + 1, MINUTES * 60_000
    arguments: list[str | int] = [former, minute, oldest, ttl_ms, _written(record), _written(totals)]
    return ScriptCall("keep_minute", [HISTORY, TOTALS], arguments, bool)


def _run(client: redis.Redis, call: ScriptCall[bool]) -> bool:
    run = command_of(call)
    try:
        return call.parse(client.execute_command(*run))  # type: ignore[no-untyped-call]
    except NoScriptError:
        client.script_load(source(call.script))
        return call.parse(client.execute_command(*run))  # type: ignore[no-untyped-call]


def _count(client: redis.Redis) -> dict[str, int]:
    """Return what was counted since the board was empty, by the names of `COUNTED`."""
    found = {name: round(count) for name, count in counters.read(client).items()} | read_totals(client)
    return {name: count for name, count in found.items() if name in COUNTED}


def _differences(before: Mapping[str, int], counted: Mapping[str, int]) -> dict[str, int]:
    """Return what was counted since. A count that is less than before, as a shard lost its data, adds nothing."""
    since = {name: count - before.get(name, 0) for name, count in counted.items()}
    return {name: count for name, count in since.items() if count > 0}


def _nested(counted: Mapping[str, int]) -> dict[str, Any]:
    """Return counts as a tree, so that a name they share is written once.

    >>> _nested({"took/files/0.1": 2, "took/files/inf": 1})
    {'took': {'files': {'0.1': 2, 'inf': 1}}}
    """
    tree: dict[str, Any] = {}
    for name, count in sorted(counted.items()):
        *path, last = name.split("/")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = count
    return tree


def _flat(tree: Any, path: str = "") -> Iterator[tuple[str, int]]:
    for name, below in tree.items():
        if isinstance(below, dict):
            yield from _flat(below, f"{path}{name}/")
        else:
            yield f"{path}{name}", int(below)


def _read_totals(kept: Any) -> tuple[float, Mapping[str, int]]:
    """Return when totals were kept (s), and what they were; 0 and nothing if they cannot be read."""
    try:
        read = json.loads(kept)
        return float(read["at"]), {name: int(count) for name, count in read["counted"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0.0, {}


def _read_minute(fields: Any) -> Minute | None:
    """Return a minute, or None if another program wrote it."""
    try:
        read = json.loads({_text(name): said for name, said in fields.items()}["record"])
        queues = tuple(
            QueueWork(Queue(queue), int(waiting), int(running), int(slots), oldest_s)
            for queue, (waiting, running, slots, oldest_s) in read["queues"].items()
            if queue in set(Queue)
        )
        return Minute(float(read["at"]), float(read["passed_s"]), queues, dict(_flat(read["counted"])))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _written(said: Mapping[str, Any]) -> str:
    return json.dumps(said, separators=(",", ":"))


def _text(said: bytes | str) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said
