"""Files between the caller and the process that reads, which may be hostile."""

import os
from pathlib import Path

import pytest

from querymill_reading.document import Unreadable
from querymill_reading.handing import HandingFolder


def test_a_file_is_handed_over_as_a_copy_and_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("all is well")
    os.mkfifo(tmp_path / "pipe")
    handing = HandingFolder()
    try:
        copy = handing.put(tmp_path / "a.txt", max_bytes=11)
        assert (copy.read_text(), copy.parent) == ("all is well", handing.path)
        for path, why in (("pipe", "no regular file"), (".", "directory"), ("b.txt", "No such file")):
            with pytest.raises(Unreadable, match=why):
                handing.put(tmp_path / path)
        with pytest.raises(Unreadable, match="11 bytes, at most 10 are read"):
            handing.put(tmp_path / "a.txt", max_bytes=10)
    finally:
        handing.remove()
    assert not handing.path.exists()


def test_links_that_a_hostile_process_leaves_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.txt").write_text("sesame")
    handing = HandingFolder()
    try:
        inside = handing.unpacked
        inside.mkdir()
        (inside / "good.txt").write_text("good")
        (inside / "link.txt").symlink_to(secret / "a.txt")
        (inside / "folder").symlink_to(secret)
        os.link(secret / "a.txt", inside / "hard.txt")
        os.mkfifo(inside / "pipe.txt")
        names = ["good.txt", "link.txt", "folder/a.txt", "hard.txt", "pipe.txt", "../../secret/a.txt", "gone.txt"]
        handing.take(names, tmp_path / "into")
        handing.clear()
        assert not inside.exists()
    finally:
        handing.remove()
    assert [path.name for path in (tmp_path / "into").rglob("*")] == ["good.txt"]
