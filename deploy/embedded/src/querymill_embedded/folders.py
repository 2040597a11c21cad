"""The data folder of a stack, and who may enter it."""

import os
import stat
from collections.abc import Collection
from pathlib import Path

import platformdirs

_ROOT_DATA = Path("/var/lib/querymill")


def default_data_folder() -> Path:
    """Return the folder of a stack that is given none: /var/lib/querymill for root, else the user's data folder."""
    if os.geteuid() == 0:
        return _ROOT_DATA
    return platformdirs.user_data_path("querymill")


def data_folder_mode(euid: int) -> int:
    """Return the permission bits for a new data folder.

    Under root, PostgreSQL runs as another user, who must be able to enter the folder but not to list it.
    """
    return 0o711 if euid == 0 else 0o700


def create_data_folder(data: Path) -> None:
    """Create the folder and its parents. A folder that exists keeps its permissions."""
    if not data.exists():
        data.mkdir(parents=True)
        data.chmod(data_folder_mode(os.geteuid()))
    (data / "logs").mkdir(mode=0o700, exist_ok=True)


def first_closed_folder(path: Path, *, uid: int, gids: Collection[int]) -> Path | None:
    """Return the outermost of `path` and its parents that a user cannot enter, or None if the user can enter all."""
    for folder in (*reversed(path.parents), path):
        if not may_enter(folder.stat(), uid=uid, gids=gids):
            return folder
    return None


def may_enter(entry: os.stat_result, *, uid: int, gids: Collection[int]) -> bool:
    """Whether the permission bits of a folder let a user enter it."""
    if entry.st_uid == uid:
        return bool(entry.st_mode & stat.S_IXUSR)
    if entry.st_gid in gids:
        return bool(entry.st_mode & stat.S_IXGRP)
    return bool(entry.st_mode & stat.S_IXOTH)
