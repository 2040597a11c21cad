"""What accompanies a job: its labels, who owns it, and which jobs it supersedes.

A job is listed under each of its labels, and under its idempotency key, in its own shard: all of its kind and of the
latest thousand. It can be superseded while it is open, by a job of the same owner and collection that names one of its
labels. Such jobs may be in any shard. So they take turns, in the one place where those of a label do:

    take a turn -> submit -> note the turn, and learn of a later one -> look for open jobs with a former turn

A job that is accepted with a former turn, after one with a later turn has looked, learns of that and ends itself. So of
two that are submitted at the same time, the later one alone goes on, whichever is on the board first. A turn that is
taken for a job that is not accepted ends none.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import SubmitOptions

#: So many jobs of a label are listed in each shard.
LISTED: Final = 1_000
#: A turn is known for so long after it was taken, and so is an open job by its labels.
KNOWN_MS: Final = 7 * 86_400_000


def label_mark(name: str, value: str) -> str:
    """Return under what a job is listed for a label."""
    return _digest(f"{name}:{value}")


def key_mark(idempotency_key: str) -> str:
    """Return under what a job is listed for its idempotency key. No label has such a name."""
    return _digest(f"\n{idempotency_key}")


def marked(shard: str, mark: str) -> str:
    """Return the key of the jobs of a shard that are listed under a mark, by when they were submitted (ms)."""
    return f"{keys.prefix(shard)}marked:{mark}"


def places_of(labels: Mapping[str, str], idempotency_key: str | None = None) -> list[list[str]]:
    """Return, for each shard, the lists of jobs with labels and a key, or of all jobs. What has all is in each list."""
    marks = [label_mark(name, value) for name, value in labels.items()]
    marks += [] if idempotency_key is None else [key_mark(idempotency_key)]
    return [[marked(shard, mark) for mark in marks] or [f"{keys.prefix(shard)}recent"] for shard in keys.SHARDS]


def in_all(
    places: Sequence[Sequence[str]], found: Sequence[Sequence[tuple[str, float]]]
) -> list[list[tuple[str, float]]]:
    """Return of each shard the entries that stand in each of its lists, of which ``found`` has one after the other.

    >>> in_all([["one", "other"]], [[("a", 1.0), ("b", 2.0)], [("b", 2.0), ("c", 3.0)]])
    [[('b', 2.0)]]
    """
    left = iter(found)
    several = ([next(left) for _ in of_shard] for of_shard in places)
    return [[entry for entry in first if all(entry in other for other in others)] for first, *others in several]


def beside(request: JobRequest, options: SubmitOptions, turn: str, *, key_elsewhere: str = "") -> str:
    """Return what accompanies a job as the fields of its record, in JSON, or "" if nothing does.

    ``key_elsewhere`` is where its idempotency key is stored, if that is in another slot.
    """
    labels, key = options.all_labels, options.idempotency_key
    marks = [label_mark(name, value) for name, value in labels.items()]
    fields = {
        "labels": to_json(labels).decode() if labels else "",
        "owner": options.owner,
        "callback": "" if options.callback is None else options.callback.model_dump_json(),
        "turn": turn,
        "key": key_elsewhere,
        "marks": " ".join(marks if key is None else [*marks, key_mark(key)]),
        "rivals": " ".join(_rivals(request, options, name, value) for name, value in labels.items()),
    }
    given = {name: value for name, value in fields.items() if value}
    return to_json(given).decode() if given else ""


def take_turn(request: JobRequest, options: SubmitOptions) -> ScriptCall[str]:
    """Take a turn among the jobs that supersede each other."""
    return ScriptCall("take_turn", [_turn_key(request, options)], [KNOWN_MS], str)


def accept_turn(request: JobRequest, options: SubmitOptions, turn: str) -> ScriptCall[str]:
    """Note that a job was accepted with a turn. Return the latest turn with which one was."""
    return ScriptCall("accept_turn", [_turn_key(request, options)], [turn, KNOWN_MS], str)


def turn_of(job_id: str) -> ScriptCall[str]:
    """Return the turn of a job, "" if it supersedes none."""
    return ScriptCall("turn", keys.of_job(job_id, "job"), [], str)


def formers(shard: str, request: JobRequest, options: SubmitOptions, job_id: str, turn: str) -> ScriptCall[list[str]]:
    """Return the open jobs of a shard that a job supersedes."""
    rivals = f"{keys.prefix(shard)}rivals:{_superseded(request, options)}"

    def parse(returned: list[Any]) -> list[str]:
        return [str(former) for former in returned]

    return ScriptCall("former", [rivals], [job_id, turn], parse)


def _turn_key(request: JobRequest, options: SubmitOptions) -> str:
    digest = _superseded(request, options)
    return f"{keys.prefix(digest[0])}turn:{digest}"


def _superseded(request: JobRequest, options: SubmitOptions) -> str:
    ((name, value),) = options.supersedes.items()
    return _rivals(request, options, name, value)


def _rivals(request: JobRequest, options: SubmitOptions, name: str, value: str) -> str:
    """Return what the jobs have in common that may supersede each other by a label."""
    return _digest(f"{options.owner}\n{request.collection}\n{name}:{value}")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
