"""Changes of real files, as the system tells them, and as looking finds them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from watchfiles import Change, watch

from querymill.watch.changes import Changes, Roots

#: Generous: other programs keep the processor busy.
LIMIT_S = 60


def changed(changes: Changes, path: Path) -> bool:
    for _ in range(LIMIT_S):
        if path in changes.wait(1):
            return True
        path.write_text(path.read_text() + "x")  # what was written before the system listened is not told
    return False


@pytest.mark.parametrize("limit_is_reached", [False, True])
def test_a_file_that_changes_is_told(tmp_path: Path, limit_is_reached: bool) -> None:
    def limited(*paths: Path, **options: Any) -> Iterator[set[tuple[Change, str]]]:
        if limit_is_reached and not options["force_polling"]:
            raise OSError("OS file watch limit reached")
        yield from watch(*paths, **options)

    deep = tmp_path / "tree" / "deep"
    deep.mkdir(parents=True)
    near = tmp_path / "near.md"
    for path in (deep / "a.jsonl", near):
        path.write_text("x")
    told: list[str] = []
    with Changes(Roots.of([tmp_path / "tree", near]), told.append, limited, look_ms=100) as changes:
        assert changed(changes, deep / "a.jsonl")
        assert changed(changes, near)
    assert any("limit reached" in said for said in told) == limit_is_reached
