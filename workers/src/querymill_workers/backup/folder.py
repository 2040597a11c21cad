"""The folder of a backup. One that was interrupted never has the name of a whole one, and has no manifest."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.manifest import Manifest, StoredFile

MANIFEST: Final = "manifest.json"
#: What the name of a folder ends with while the backup is being made.
PARTIAL: Final = ".partial"


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Make the folder that a backup is written into, for its owner alone. After a failure it is removed.

    It gets the name ``target`` from `complete`.

    Raises:
        BackupError: There is something of this name, or the folder cannot be made.
    """
    partial = target.with_name(target.name + PARTIAL)
    if target.exists() or target.is_symlink():
        raise BackupError(f"{target}: exists already; name a folder that does not")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)
    except FileExistsError:
        raise BackupError(
            f"{partial}: another backup is being written here, or was interrupted; if none runs, remove it"
        ) from None
    except OSError as error:
        raise BackupError(
            f"{target}: cannot be made ({error.strerror}); name a folder that this user may make"
        ) from error
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def complete(partial: Path, target: Path, manifest: Manifest) -> None:
    """Write the manifest, and give the folder its name once all of it is on the disk."""
    (partial / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    for path in (*partial.iterdir(), partial):
        _flush(path)
    partial.rename(target)
    _flush(target.parent)


def stored_files(folder: Path) -> dict[str, StoredFile]:
    """Return the size and hash of each file of a folder but its manifest."""
    return {path.name: _stored(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a backup whose files are as they were written.

    Raises:
        BackupError: It is not a whole backup, or one of its files is missing or has changed.
    """
    place = folder / MANIFEST
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BackupError(
            f"{folder}: has no {MANIFEST}, so it is no backup, or one that was interrupted; restore another one"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"{place}: cannot be read ({error}); restore another backup") from error
    manifest = Manifest.read(text, place=str(place))
    for name, expected in manifest.files.items():
        found = _stored(folder / name) if (folder / name).is_file() else None
        if found is None:
            raise BackupError(f"{folder / name}: is missing; restore another backup")
        if found.size != expected.size:
            raise BackupError(
                f"{folder / name}: has {found.size} bytes instead of {expected.size}; restore another backup"
            )
        if found != expected:
            raise BackupError(
                f"{folder / name}: has changed since the backup was made (SHA-256); restore another backup"
            )
    return manifest


def _stored(path: Path) -> StoredFile:
    with path.open("rb") as file:
        return StoredFile(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
