"""Folders of the stack: where the data goes, and who may enter."""

import os
import stat
from collections.abc import Collection
from pathlib import Path

import platformdirs

_ROOT_DATA = Path("/var/lib/querymill")


def default_data_folder() -> Path:
    """Where a stack keeps its data when no folder is named."""
    if os.geteuid() == 0:
        return _ROOT_DATA
    return platformdirs.user_data_path("querymill")


def data_folder_mode(euid: int) -> int:
    """Permission bits of a data folder we create.

    Under root the PostgreSQL server is another user and must pass through, though it cannot list the folder.
    """
    return 0o711 if euid == 0 else 0o700


def create_data_folder(data: Path) -> None:
    """Create the folder and its parents; one that exists keeps its permissions."""
    if not data.exists():
        data.mkdir(parents=True)
        data.chmod(data_folder_mode(os.geteuid()))
    (data / "logs").mkdir(mode=0o700, exist_ok=True)


def first_closed_folder(path: Path, *, uid: int, gids: Collection[int]) -> Path | None:
    """The outermost folder on the way to `path`, itself included, that a user cannot enter; None if all are open."""
    for folder in (*reversed(path.parents), path):
        if not may_enter(folder.stat(), uid=uid, gids=gids):
            return folder
    return None


def may_enter(entry: os.stat_result, *, uid: int, gids: Collection[int]) -> bool:
    """Whether a user may pass through a folder, by its permission bits."""
    if entry.st_uid == uid:
        return bool(entry.st_mode & stat.S_IXUSR)
    if entry.st_gid in gids:
        return bool(entry.st_mode & stat.S_IXGRP)
    return bool(entry.st_mode & stat.S_IXOTH)
