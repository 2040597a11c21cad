import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from querymill_embedded.errors import dead_part, log_tail


def test_a_dead_part_is_named_with_the_last_fifteen_lines_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "valkey.log"
    log.write_bytes(b"\xff\n" + b"\n".join(b"line %d" % number for number in range(1, 21)) + b"\n")
    lines = str(dead_part("valkey", "Exited too quickly", log)).splitlines()
    assert lines[:2] == ["valkey does not run: Exited too quickly", f"  last lines of {log}:"]
    assert lines[2:] == [f"    line {number}" for number in range(6, 21)]


def test_a_dead_part_without_a_log_says_so(tmp_path: Path) -> None:
    assert str(dead_part("chat", "gone", tmp_path / "chat.log")).endswith("    (nothing was written)")


def test_an_empty_log_says_so_too(tmp_path: Path) -> None:
    log = tmp_path / "chat.log"
    log.touch()
    assert log_tail(log) == "    (nothing was written)"


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]))), st.integers(1, 20))
def test_a_tail_is_the_end_of_the_log_line_by_line(lines: list[str], count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "a.log"
        log.write_text("".join(f"{line}\n" for line in lines))
        tail = log_tail(log, lines=count).split("\n")
    assert all(line.startswith("    ") for line in tail)
    assert [line[4:] for line in tail] == (lines[-count:] or ["(nothing was written)"])
