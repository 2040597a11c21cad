import json
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_embedded.parts import Program, StackPart
from querymill_embedded.processes import ProcessIdentity
from querymill_embedded.state import (
    PORTS_FILE,
    Control,
    StackState,
    read_ports,
    write_ports,
    write_private,
    write_programs,
)

STATE = StackState(
    supervisor=ProcessIdentity(4711, 1234.5),
    control=Control(port=20999, user="querymill", password="secret"),
    ports={StackPart.VALKEY: 20001, StackPart.CHAT: 20002},
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


NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
PORTS = st.integers(1, 65_535)
STATES = st.builds(
    StackState,
    supervisor=st.builds(ProcessIdentity, st.integers(1, 2**31), st.floats(0, 2**33)),
    control=st.builds(Control, port=PORTS, user=st.text(), password=st.text()),
    ports=st.dictionaries(st.sampled_from(StackPart), PORTS),
    programs=st.dictionaries(NAMES, st.none() | PORTS),
    stop_within_s=st.floats(0, 1e6),
    pids=st.dictionaries(NAMES, PORTS),
)


@given(STATES)
def test_any_state_is_read_back_in_its_order(state: StackState) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state.write(Path(folder))
        again = StackState.read(Path(folder))
    assert again == state
    assert again is not None
    assert again.names == state.names


def test_a_state_without_pids_is_read_back_with_none_of_them(tmp_path: Path) -> None:
    StackState(STATE.supervisor, STATE.control, {}, {}, 1.0).write(tmp_path)
    again = StackState.read(tmp_path)
    assert again is not None
    assert again.pids == {}


def test_a_second_write_replaces_the_first_as_a_whole(tmp_path: Path) -> None:
    STATE.write(tmp_path)
    small = StackState(STATE.supervisor, STATE.control, {}, {}, 1.0, pids={})
    small.write(tmp_path)
    assert StackState.read(tmp_path) == small
    assert [path.name for path in tmp_path.iterdir()] == ["stack.json"]


def test_what_an_interrupted_write_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "stack.json.new").write_text("half a st")
    STATE.write(tmp_path)
    assert StackState.read(tmp_path) == STATE
    assert not (tmp_path / "stack.json.new").exists()


def test_a_link_that_somebody_planted_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "stack.json.new").symlink_to(target)
    write_private(tmp_path / "stack.json", "new")
    assert target.read_text() == "precious"
    assert not (tmp_path / "stack.json").is_symlink()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"supervisor": {}}'])
def test_a_state_that_cannot_be_read_is_an_error_and_not_a_folder_without_a_stack(tmp_path: Path, content: str) -> None:
    (tmp_path / "stack.json").write_text(content)
    with pytest.raises((ValueError, TypeError, KeyError)):
        StackState.read(tmp_path)


@given(st.dictionaries(st.text(min_size=1), st.text()), st.lists(st.text(), min_size=1))
def test_any_environment_and_command_reach_the_program_as_they_are(
    environment: dict[str, str], command: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_programs(Path(folder), [Program(name="a", command=tuple(command), environment=environment)], {})
        record = json.loads((Path(folder) / "programs.json").read_text(encoding="utf-8"))
    assert record == {"a": {"command": command, "environment": environment}}


def test_the_ports_of_a_folder_are_kept_part_by_part(tmp_path: Path) -> None:
    assert read_ports(tmp_path) == {}
    write_ports(tmp_path, {StackPart.VALKEY: 20001, StackPart.CHAT: 20002})
    write_ports(tmp_path, {StackPart.VALKEY: 20003})
    assert read_ports(tmp_path) == {"valkey": 20003, "chat": 20002}


@pytest.mark.parametrize("spoilt", ["", "[]", "null", '{"valkey": "x"}'])
def test_spoilt_ports_are_forgotten(tmp_path: Path, spoilt: str) -> None:
    (tmp_path / PORTS_FILE).write_text(spoilt)
    assert read_ports(tmp_path) == {}
