import json
import stat
from pathlib import Path

from querymill_embedded.errors import dead_part
from querymill_embedded.parts import Part, Program
from querymill_embedded.processes import ProcessIdentity
from querymill_embedded.state import Control, StackState, write_private, write_programs

STATE = StackState(
    supervisor=ProcessIdentity(4711, 1234.5),
    control=Control(port=20999, user="querymill", password="secret"),
    ports={Part.VALKEY: 20001, Part.CHAT: 20002},
    programs={"search": None, "gateway": 8080},
    stop_within_s=50.0,
    pids={"valkey": 4712},
)


def test_a_written_state_is_read_back(tmp_path: Path) -> None:
    STATE.write(tmp_path)
    assert StackState.read(tmp_path) == STATE
    assert STATE.names == ("valkey", "chat", "search", "gateway")


def test_a_folder_without_a_stack_has_no_state(tmp_path: Path) -> None:
    assert StackState.read(tmp_path) is None


def test_only_the_owner_reads_what_is_written_even_over_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "stack.json"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_program_has_the_environment_of_the_stack_under_its_own(tmp_path: Path) -> None:
    program = Program(name="search", command=("run", "it's"), environment={"A": "own", "B": 'x "y"\nz'})
    write_programs(tmp_path, [program], {"A": "stack", "C": "stack"})
    assert json.loads((tmp_path / "programs.json").read_text()) == {
        "search": {"command": ["run", "it's"], "environment": {"A": "own", "B": 'x "y"\nz', "C": "stack"}}
    }


def test_a_dead_part_is_named_with_the_last_fifteen_lines_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "valkey.log"
    log.write_bytes(b"\xff\n" + b"\n".join(b"line %d" % number for number in range(1, 21)) + b"\n")
    lines = str(dead_part("valkey", "Exited too quickly", log)).splitlines()
    assert lines[:2] == ["valkey does not run: Exited too quickly", f"  last lines of {log}:"]
    assert lines[2:] == [f"    line {number}" for number in range(6, 21)]


def test_a_dead_part_without_a_log_says_so(tmp_path: Path) -> None:
    assert str(dead_part("chat", "gone", tmp_path / "chat.log")).endswith("    (nothing was written)")
