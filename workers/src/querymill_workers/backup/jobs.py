"""The jobs of the board and the API keys of the gateway, in a file: a line of JSON for each key, compressed."""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import redis
from redis.exceptions import NoPermissionError

from querymill_shared.board.copying import CopiedKey, copy_jobs, copy_keys, put_keys
from querymill_shared.board.erasure import LOOKED_AT, some_at_a_time
from querymill_shared.board.keys import API_KEYS, CALLBACK_SECRETS
from querymill_shared.board.lives import ALIVE_S, read_lives
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.manifest import StoredBoard

FILE: Final = "board.jsonl.gz"
_OURS: Final = "qm:*"
#: What is kept of API keys: hashes of their secrets, and the numbers of those that sign their callbacks.
_OF_KEYS: Final = (API_KEYS.encode(), CALLBACK_SECRETS.encode())


def copy(client: redis.Redis, folder: Path) -> StoredBoard:
    """Write the jobs and the API keys into a file, without the latter if this user of the server may not read them."""
    jobs, api_keys = 0, _api_keys(client)
    with gzip.open(folder / FILE, "wt", encoding="ascii", compresslevel=1) as file:
        for key in chain(copy_jobs(client), api_keys):
            file.write(_line(key))
            jobs += key.is_record
    return StoredBoard(jobs=jobs, has_api_keys=bool(api_keys))


def refuse_workers(client: redis.Redis) -> None:
    """Check that nobody works on the board.

    Raises:
        BackupError: Workers do.
    """
    alive = [life.name for life in read_lives(client) if life.beat_age_s < ALIVE_S]
    if alive:
        raise BackupError(
            f"REDIS_URL: workers run ({', '.join(alive)}): stop them, and the gateway, or wait {ALIVE_S:.0f} s"
            " if they were killed; then restore again"
        )


def holds(client: redis.Redis, *, api_keys: bool) -> bool:
    """Whether the board holds a job, or API keys if the backup has some, too."""
    is_worked = next(iter(client.scan_iter(match="qm:{?}:*:job", count=LOOKED_AT)), None) is not None
    return is_worked or (api_keys and has_api_keys(client))


def has_api_keys(client: redis.Redis) -> bool:
    """Whether the board holds API keys. A user that may not read them may know that."""
    return bool(client.exists(API_KEYS))


def empty(client: redis.Redis, *, api_keys: bool) -> None:
    """Delete what the board holds, and API keys only if the backup has some: without any, a gateway asks for none."""
    for some in some_at_a_time(client.scan_iter(match=_OURS, count=LOOKED_AT)):
        pipeline: Any = client.pipeline(transaction=False)
        for name in some:
            if api_keys or name not in _OF_KEYS:
                pipeline.delete(name)  # one by one: on a cluster, keys of one command share a slot
        pipeline.execute()


def fill(client: redis.Redis, folder: Path) -> int:
    """Put the jobs of a backup on the board. Return how many they are; those that have expired since are left out.

    Raises:
        BackupError: The server is older than the one that was backed up, or this user may not write a key.
    """
    try:
        return put_keys(client, _copied(folder))
    except redis.ResponseError as error:
        raise BackupError(
            f"REDIS_URL: the board cannot be restored ({error}): the server must be as new as the one that was backed"
            " up, and its user may write jobs and API keys; restore again with --replace"
        ) from error


def _api_keys(client: redis.Redis) -> Sequence[CopiedKey]:
    try:
        # One by one: on a cluster, they are in several slots.
        return [copied for name in _OF_KEYS for copied in copy_keys(client, [name])]
    except NoPermissionError:
        return []


def _line(key: CopiedKey) -> str:
    fields = {"key": b64encode(key.name).decode(), "dump": b64encode(key.dump).decode(), "expires_ms": key.expires_ms}
    return json.dumps(fields) + "\n"


def _copied(folder: Path) -> Iterator[CopiedKey]:
    with gzip.open(folder / FILE, "rt", encoding="ascii") as file:
        for line in file:
            fields = json.loads(line)
            yield CopiedKey(b64decode(fields["key"]), b64decode(fields["dump"]), int(fields["expires_ms"]))
