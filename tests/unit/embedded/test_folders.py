import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_embedded.folders import create_data_folder, default_data_folder, first_closed_folder, may_enter


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_data_folder_is_private_with_its_logs_and_its_parents(tmp_path: Path) -> None:
    data = tmp_path / "a" / "b"
    create_data_folder(data)
    assert mode_of(data) == (0o711 if os.geteuid() == 0 else 0o700)
    assert mode_of(data / "logs") == 0o700


def test_a_data_folder_that_exists_keeps_its_permissions_and_its_files(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "old.log").write_text("old")
    create_data_folder(tmp_path)
    assert mode_of(tmp_path) == 0o755
    assert (tmp_path / "logs" / "old.log").read_text() == "old"


def test_a_file_where_the_data_folder_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(NotADirectoryError):
        create_data_folder(tmp_path / "data")


@pytest.mark.parametrize(("euid", "folder"), [(0, "/var/lib/querymill"), (1000, "/home/me/share/querymill")])
def test_the_folder_that_nobody_names_is_of_the_system_or_of_the_user(
    monkeypatch: pytest.MonkeyPatch, euid: int, folder: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: euid)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/me/share")
    assert default_data_folder() == Path(folder)


@given(st.integers(0, 0o777), st.integers(0, 3), st.sets(st.integers(0, 3)), st.integers(0, 3), st.integers(0, 3))
def test_whether_a_user_may_enter_is_what_the_system_decides(
    mode: int, uid: int, gids: set[int], owner: int, group: int
) -> None:
    entry = os.stat_result((mode, 0, 0, 0, owner, group, 0, 0, 0, 0))
    shift = 6 if uid == owner else 3 if group in gids else 0
    assert may_enter(entry, uid=uid, gids=gids) is bool(mode >> shift & 1)


def test_of_two_closed_folders_the_outer_one_is_named_and_the_last_one_counts(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    me, my_group = inner.stat().st_uid, inner.stat().st_gid
    stranger = {"uid": me + 1, "gids": [my_group + 1]}
    open_so_far = first_closed_folder(tmp_path, **stranger)  # type: ignore[arg-type]  # by name
    for folder in (inner, inner.parent):
        folder.chmod(0o700)
    assert first_closed_folder(inner, **stranger) == (open_so_far or inner.parent)  # type: ignore[arg-type]
    assert first_closed_folder(inner, uid=me, gids=[my_group]) is None
    inner.parent.chmod(0o701)
    assert first_closed_folder(inner, **stranger) == (open_so_far or inner)  # type: ignore[arg-type]
