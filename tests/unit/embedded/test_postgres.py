"""PostgreSQL under root and under a user: who runs it, from where, and what is said when that cannot be."""

import os
import stat
from pathlib import Path

import pytest

from querymill_embedded.errors import StackError
from querymill_embedded.folders import data_folder_mode, first_closed_folder, may_enter
from querymill_embedded.postgres import (
    Cluster,
    SystemUser,
    check_data_folder,
    copy_programs,
    server_account,
    server_command,
)

STRANGER = SystemUser("stranger", uid=54321, gid=54321)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "data"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    return folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "site" / "server"
    (folder / "pginstall18" / "bin").mkdir(parents=True)
    program = folder / "pginstall18" / "bin" / "postgres"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    (folder / "pginstall18" / "share").mkdir(mode=0o700)
    (folder / "pginstall18" / "share" / "words").write_text("words")
    libraries = folder.with_name("server.libs")
    libraries.mkdir()
    (libraries / "libpq.so").write_text("library")
    return folder


def test_a_user_runs_the_server_under_the_own_account() -> None:
    assert server_account(1000) is None


def test_root_runs_the_server_as_nobody() -> None:
    account = server_account(0)
    assert account is not None
    assert account.name == "nobody"
    assert account.uid != 0


def test_a_data_folder_is_private_and_under_root_only_open_to_pass_through() -> None:
    assert data_folder_mode(1000) == 0o700
    assert data_folder_mode(0) == 0o711


def test_the_outermost_closed_folder_is_found(closed: Path) -> None:
    # pytest's own folder may be closed already.
    found = first_closed_folder(closed, uid=STRANGER.uid, gids=[STRANGER.gid])
    assert found is not None
    assert closed.is_relative_to(found)
    assert first_closed_folder(Path("/"), uid=STRANGER.uid, gids=[STRANGER.gid]) is None


@pytest.mark.parametrize(
    ("mode", "uid", "gids", "may"),
    [
        (0o700, 1, [1], True),
        (0o077, 1, [1], False),
        (0o710, 9, [2, 1], True),
        (0o701, 9, [1], False),
        (0o701, 9, [2], True),
        (0o770, 9, [2], False),
    ],
)
def test_the_permission_that_counts_is_that_of_the_own_class(mode: int, uid: int, gids: list[int], may: bool) -> None:
    entry = os.stat_result((mode, 0, 0, 0, 1, 1, 0, 0, 0, 0))
    assert may_enter(entry, uid=uid, gids=gids) is may


def test_a_data_folder_which_the_account_cannot_reach_is_refused_with_the_mend(closed: Path) -> None:
    with pytest.raises(StackError, match=r"'stranger', which may not enter .*`chmod o\+x /.*` or choose a data folder"):
        check_data_folder(closed, STRANGER)
    check_data_folder(closed, None)


def test_a_copy_keeps_programs_and_libraries_in_place_and_opens_them(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_programs(package, copy)
    program = copy / "server" / "pginstall18" / "bin" / "postgres"
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert stat.S_IMODE((copy / "server" / "pginstall18" / "share" / "words").stat().st_mode) == 0o644
    assert stat.S_IMODE((copy / "server" / "pginstall18" / "share").stat().st_mode) == 0o755
    assert (copy / "server.libs" / "libpq.so").read_text() == "library"


def test_a_copy_is_made_once(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_programs(package, copy)
    program = copy / "server" / "pginstall18" / "bin" / "postgres"
    made = program.stat().st_mtime_ns, program.stat().st_ino
    copy_programs(package, copy)
    assert (program.stat().st_mtime_ns, program.stat().st_ino) == made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "site"]


@pytest.mark.parametrize("planted", ["writable", "link"])
def test_a_copy_that_somebody_else_may_have_planted_is_refused(package: Path, tmp_path: Path, planted: str) -> None:
    copy = tmp_path / "copy"
    if planted == "writable":
        copy.mkdir()
        copy.chmod(0o777)
    else:
        copy.symlink_to(package)
    with pytest.raises(StackError, match="remove it and start again"):
        copy_programs(package, copy)


def test_the_server_listens_on_the_loopback_only_and_flushes_unless_temporary(tmp_path: Path) -> None:
    kept = Cluster(folder=tmp_path, account=None, durable=True)
    command = server_command(kept, Path("/bin"), 20001)
    assert command[:5] == ("/bin/postgres", "-D", str(tmp_path / "cluster"), "-p", "20001")
    assert {"listen_addresses=127.0.0.1", "unix_socket_directories="} <= set(command)
    assert "fsync=off" not in command
    temporary = Cluster(folder=tmp_path, account=None, durable=False)
    assert "fsync=off" in server_command(temporary, Path("/bin"), 20001)
