"""Back up or restore: ``python -m querymill_workers.backup back-up FOLDER`` or ``… restore SOURCE``."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import psycopg
import redis
from pymongo.errors import ConnectionFailure

from querymill_shared.contracts.errors import Unavailable, detail_of
from querymill_shared.settings import Settings
from querymill_workers import logs
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.manifest import Manifest
from querymill_workers.backup.restoring import Restored, restore
from querymill_workers.backup.taking import back_up

FAILED, AWAY = 1, 3


def main(given: Sequence[str] | None = None) -> int:
    """Run one of the two. Return 0 if it is done, 3 if a server is away, else 1."""
    options = _options(given)
    os.umask(0o077)
    settings = Settings()
    logs.configure(settings.querymill_log_level)
    try:
        if options.what == "back-up":
            print_backup(back_up(settings, options.place), options.place, as_json=options.json)
        else:
            print_restored(restore(settings, options.place, replace=options.replace), as_json=options.json)
    except BackupError as error:
        sys.stderr.write(f"{settings.mask_secrets(str(error))}\n")
        return FAILED
    except psycopg.Error as error:
        sys.stderr.write(f"DATABASE_URL: {settings.mask_secrets(str(error).strip())}; see `querymill doctor`\n")
        return AWAY if isinstance(error, psycopg.OperationalError) else FAILED
    except ConnectionFailure as error:
        sys.stderr.write(f"MONGODB_URI: {settings.mask_secrets(str(error))[:300]}; see `querymill doctor`\n")
        return AWAY
    except (Unavailable, redis.RedisError) as error:
        sys.stderr.write(f"REDIS_URL: {settings.mask_secrets(detail_of(error))}; see `querymill doctor`\n")
        return FAILED if isinstance(error, redis.ResponseError) else AWAY
    except OSError as error:
        sys.stderr.write(f"{error.filename or options.place}: {error.strerror}\n")
        return FAILED
    return 0


def print_backup(manifest: Manifest, place: Path, *, as_json: bool) -> None:
    """Print the contents of a backup."""
    if as_json:
        sys.stdout.write(json.dumps({"folder": str(place.resolve())} | manifest.model_dump(mode="json")) + "\n")
        return
    board, code = manifest.board, manifest.code_documents
    size = sum(file.size for file in manifest.files.values())
    parts = [
        f"{sum(manifest.tables.values()):,} rows of {len(manifest.tables)} tables",
        *([] if code is None else [f"{code['module_documents']:,} code documents of MongoDB"]),
        f"{board.jobs:,} jobs",
        "API keys" if board.has_api_keys else "no API keys",
    ]
    sys.stdout.write(f"{place}: {size:,} bytes, as of {manifest.at:%Y-%m-%d %H:%M:%S %Z}: {', '.join(parts)}\n")


def print_restored(restored: Restored, *, as_json: bool) -> None:
    """Print what was restored, and what is left to do."""
    if as_json:
        sys.stdout.write(json.dumps(asdict(restored)) + "\n")
        return
    sys.stdout.write(f"restored: {restored.rows:,} rows, {restored.jobs:,} jobs")
    sys.stdout.write(f", {restored.code_documents:,} code documents of MongoDB" if restored.code_documents else "")
    sys.stdout.write(f"; migrations applied: {', '.join(restored.migrations)}\n" if restored.migrations else "\n")
    for remark in restored.remarks:
        sys.stdout.write(f"{remark}\n")


def _options(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="querymill_workers.backup")
    parser.add_argument("what", choices=["back-up", "restore"])
    parser.add_argument("place", type=Path)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
