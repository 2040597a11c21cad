"""The story of a restoration, from top to bottom. What is restored is looked at before anything is changed."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import redis

from querymill_shared.board.connections import open_commands
from querymill_shared.settings import Settings
from querymill_shared.values import value
from querymill_workers.backup import code_documents, database, jobs
from querymill_workers.backup.archive import Archive
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.folder import MANIFEST, PARTIAL, read_manifest
from querymill_workers.backup.manifest import Manifest
from querymill_workers.backup.missing_vectors import submit_embedding
from querymill_workers.backup.programs import programs_for
from querymill_workers.backup.taking import DUMP
from querymill_workers.postgres.connection import connect

_REPLACE: Final = "give --replace to delete the stored data"


@value
class Restored:
    """What was restored: rows, code documents of MongoDB, jobs; migrations that the database lacked; remarks."""

    rows: int
    code_documents: int
    jobs: int
    migrations: Sequence[str]
    remarks: Sequence[str]


def restore(settings: Settings, source: Path, *, replace: bool) -> Restored:
    """Restore a folder of `back_up`, or an archive of `pg_dump`, into the servers that the settings lead to.

    Raises:
        BackupError: It is not whole, a server is not empty, or an administrator must act first. Then nothing is
            deleted. Or a server could not be filled. Then what the database held is lost: it is dropped when the
            restoration begins.
    """
    url, uri = settings.database_url.get_secret_value(), settings.mongodb_uri.get_secret_value()
    manifest = read_manifest(source) if _is_backup(source) else None
    archive = _archive(source / DUMP if manifest else source, url)
    expected = archive.check_whole() if manifest is None else manifest.tables
    _check_mongodb(manifest, expected, uri)
    has_api_keys = manifest is not None and manifest.board.has_api_keys
    with closing(open_commands(settings.redis_url, decode_responses=False)) as client:
        jobs.refuse_workers(client)
        keeps_api_keys = not has_api_keys and jobs.has_api_keys(client)
        if not replace:
            _refuse_what_is_kept(url, uri, client, api_keys=has_api_keys)
        database.prepare(url)
        applied = database.fill(url, archive, expected)
        jobs.empty(client, api_keys=has_api_keys)
        documents = manifest.code_documents if manifest is not None else None
        if documents is not None:
            code_documents.fill(uri, source, documents)
        restored_jobs = 0 if manifest is None else jobs.fill(client, source)
        lacking = submit_embedding(settings)
    return Restored(
        rows=sum(expected.values()),
        code_documents=(documents or {}).get("module_documents", 0),
        jobs=restored_jobs,
        migrations=applied,
        remarks=[
            *_remarks(manifest, expected),
            *_remark_on_api_keys(restored=has_api_keys, kept=keeps_api_keys),
            *_remark_of(lacking),
        ],
    )


def _is_backup(source: Path) -> bool:
    """Whether a source is a folder of `back_up`: `pg_dump` can write folders, too."""
    if not source.exists():
        raise BackupError(f"{source}: no such file or folder; give what `querymill backup` or `pg_dump` wrote")
    is_other = source.is_file() or (source / "toc.dat").is_file()
    if source.name.endswith(PARTIAL) and not is_other:
        raise BackupError(f"{source}: is of a backup that was interrupted; restore another one")
    return (source / MANIFEST).exists() or not is_other


def _archive(path: Path, url: str) -> Archive:
    with closing(connect(url)) as connection:
        server = connection.info.server_version // 10_000
    return Archive.open(path, programs_for(server))


def _check_mongodb(manifest: Manifest | None, tables: Mapping[str, int], uri: str) -> None:
    """Check that the code documents go where they were."""
    if uri and _has_rows("module_documents", tables):
        raise BackupError("MONGODB_URI: is set, and the code documents of the backup are in PostgreSQL: unset it")
    if not uri and (_needs_mongodb(tables) or (manifest is not None and manifest.code_documents is not None)):
        raise BackupError("MONGODB_URI: is not set, and the code documents of the backup are in a MongoDB: set it")


def _needs_mongodb(tables: Mapping[str, int]) -> bool:
    """Whether PostgreSQL says which code documents count, and does not have them."""
    return _has_rows("module_register", tables) and not _has_rows("module_documents", tables)


def _has_rows(name: str, tables: Mapping[str, int]) -> bool:
    return any(rows for table, rows in tables.items() if table.endswith(f".{name}"))


def _refuse_what_is_kept(url: str, uri: str, client: redis.Redis, *, api_keys: bool) -> None:
    if database.holds_documents(url):
        raise BackupError(f"DATABASE_URL: the database is not empty: name an empty one, or {_REPLACE}")
    if uri and code_documents.holds_documents(uri):
        raise BackupError(f"MONGODB_URI: the database is not empty: name an empty one, or {_REPLACE}")
    if jobs.holds(client, api_keys=api_keys):
        raise BackupError(f"REDIS_URL: the board holds jobs or API keys: name an empty one, or {_REPLACE}")


def _remarks(manifest: Manifest | None, tables: Mapping[str, int]) -> list[str]:
    remarks = []
    if manifest is None and _needs_mongodb(tables):
        remarks.append("a dump of PostgreSQL has no code documents of a MongoDB: restore them now, with mongorestore")
    return remarks


def _remark_on_api_keys(*, restored: bool, kept: bool) -> list[str]:
    if restored:
        return []
    if kept:
        return [
            "the backup has no API keys: the board keeps the API keys that it had, and they are valid"
            " (`querymill keys list`)"
        ]
    return ["no API keys were restored: `querymill keys add`, before anybody can reach the gateway"]


def _remark_of(lacking: int) -> list[str]:
    return [f"{lacking:,} documents lacked vectors: jobs that make them wait for the workers"] if lacking else []
