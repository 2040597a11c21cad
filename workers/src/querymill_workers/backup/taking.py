"""The story of a backup, from top to bottom.

The board is copied first, then PostgreSQL as it is at one moment after that. So what a job of the backup says that it
did is in the stores. What a job did after the copy is in them, too: once restored, it is run again, and its version
tells that its effect is there. While MongoDB is copied, writers of code documents wait, so that both are of one moment.
"""

import time
from contextlib import ExitStack, closing, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Final

import redis

from querymill_shared.board.clock import read_clock
from querymill_shared.board.connections import open_commands
from querymill_shared.settings import Settings
from querymill_shared.values import value
from querymill_workers.backup import archive, code_documents, jobs
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.folder import complete, new_folder, stored_files
from querymill_workers.backup.manifest import Manifest, StoredBoard
from querymill_workers.backup.programs import environment_of, programs_for
from querymill_workers.backup.snapshot import Snapshot, rows_of_tables, snapshot_of, writers_of_modules_held

DUMP: Final = "postgres.dump"
#: For how long a moment is looked for at which nothing is being forgotten, in seconds.
PATIENCE_S: Final = 60.0


@value
class _Moment:
    """What the servers hold at one moment: the database is still to be dumped."""

    board: StoredBoard
    snapshot: Snapshot
    code_documents: dict[str, int] | None


def back_up(settings: Settings, target: Path) -> Manifest:
    """Write a backup of all that the settings lead to into a new folder, and return what it says of itself.

    Raises:
        BackupError: It was not made; nothing of it is left.
    """
    with (
        new_folder(target) as folder,
        closing(open_commands(settings.redis_url, decode_responses=False)) as client,
        ExitStack() as opened,
    ):
        moment = _one_moment(settings, client, folder, opened)
        tables = _dump(settings.database_url.get_secret_value(), moment.snapshot, folder)
        manifest = Manifest(
            release=version("querymill-workers"), at=moment.snapshot.at, server=moment.snapshot.server,
            migrations=moment.snapshot.migrations(), tables=tables, code_documents=moment.code_documents,
            board=moment.board, files=stored_files(folder),
        )  # fmt: skip
        complete(folder, target, manifest)
    return manifest


def _one_moment(settings: Settings, client: redis.Redis, folder: Path, opened: ExitStack) -> _Moment:
    """Copy the board, then open a transaction of the database, and copy MongoDB as it is at the same moment.

    A job of the copied board may hold a text that was forgotten before the database was looked at. Then both are done
    again.
    """
    url, uri = settings.database_url.get_secret_value(), settings.mongodb_uri.get_secret_value()
    until = time.monotonic() + PATIENCE_S
    while True:
        began_us = int(read_clock(client) * 1_000_000)
        board = jobs.copy(client, folder)
        with ExitStack() as tried, writers_of_modules_held(url) if uri else nullcontext():
            snapshot = tried.enter_context(snapshot_of(url))
            if not snapshot.dropped_since(began_us):
                copied = dict(code_documents.copy(uri, folder)) if uri else None
                opened.enter_context(tried.pop_all())  # the writers go on, while this is dumped
                return _Moment(board, snapshot, copied)
        if time.monotonic() > until:
            raise BackupError("documents are dropped all the time; back up again when no `querymill drop` runs")


def _dump(url: str, snapshot: Snapshot, folder: Path) -> dict[str, int]:
    """Dump what a snapshot sees, and read it back. Return the rows of each table."""
    tables = dict(rows_of_tables(snapshot.connection))
    dumped = archive.dump(programs_for(snapshot.server), snapshot.name, folder / DUMP, environment_of(url))
    written = dumped.rows()
    if wrong := [
        f"{table} {written.get(table, 0)} of {rows}" for table, rows in tables.items() if written.get(table, 0) != rows
    ]:
        raise BackupError(f"DATABASE_URL: the dump lacks rows: {', '.join(wrong)}; connect as a superuser")
    return tables
