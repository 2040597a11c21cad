"""A stack against a scripted supervisor: what is kept, what is refused, what is forgotten."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from querymill_embedded.errors import StackError
from querymill_embedded.parts import Program, StackPart
from querymill_embedded.processes import STACK_VARIABLE, ProcessIdentity
from querymill_embedded.stack import Stack
from querymill_embedded.state import Control, StackState
from querymill_embedded.supervisor import ProcessState
from querymill_embedded.temporary import temporary_stack
from tests.fakes.supervisor import process, scripted_supervisor

SLEEPER = Program(name="search", command=("sleep", "60"))


@pytest.fixture
def supervising(tmp_path: Path) -> Iterator[ProcessIdentity]:
    """A process that leads a session as a supervisor does, of the stack in the test's folder."""
    with subprocess.Popen(
        ["sleep", "60"], start_new_session=True, env={**os.environ, STACK_VARIABLE: str(tmp_path)}
    ) as child:
        # A process that has just been made does not have its own environment at once.
        until = time.monotonic() + 30
        while STACK_VARIABLE not in psutil.Process(child.pid).environ() and time.monotonic() < until:
            time.sleep(0.01)
        yield ProcessIdentity.of(child.pid)
        child.kill()


def leave_state(data: Path, supervisor: ProcessIdentity, control: Control | None = None, **parts: int) -> StackState:
    state = StackState(
        supervisor=supervisor,
        control=control or Control(port=1, user="querymill", password="secret"),
        ports={StackPart(name): port for name, port in parts.items()},
        programs={"search": None},
        stop_within_s=5.0,
    )
    state.write(data)
    return state


def test_a_folder_without_a_stack_has_no_parts_and_no_environment(tmp_path: Path) -> None:
    assert Stack(tmp_path).status() == []
    with pytest.raises(StackError, match=rf"no stack is up in {tmp_path}; run `querymill up`"):
        Stack(tmp_path).environment()


def test_taking_down_what_is_not_there_creates_nothing(tmp_path: Path) -> None:
    Stack(tmp_path / "never").down()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_named_from_home_and_through_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Stack(Path("~/link")).data == tmp_path / "real"


def test_the_environment_leads_to_the_started_parts_even_after_a_crash(
    tmp_path: Path, supervising: ProcessIdentity
) -> None:
    leave_state(tmp_path, ProcessIdentity(supervising.pid, supervising.created - 3_600), valkey=20_001)
    stack = Stack(tmp_path)
    assert stack.environment() == {"REDIS_URL": "redis://127.0.0.1:20001/0"}
    assert [(status.name, status.state) for status in stack.status()] == [
        ("valkey", ProcessState.DEAD), ("search", ProcessState.DEAD),
    ]  # fmt: skip


def test_up_on_a_running_stack_starts_only_what_has_given_up(tmp_path: Path, supervising: ProcessIdentity) -> None:
    before = [process("search", group="programs"), process("gateway", "FATAL", group="programs")]
    resting = [process("leash", "EXITED", group="leash"), process("slow", "STARTING", group="programs")]
    with scripted_supervisor(before + resting, [process("search", group="programs")]) as supervisor:
        state = leave_state(tmp_path, supervising, supervisor.control)
        Stack(tmp_path).up(parts=())
        assert sorted(supervisor.started) == ["leash:leash", "programs:gateway"]
    assert StackState.read(tmp_path) == replace(state, pids={})


def test_up_with_a_part_that_the_running_stack_lacks_says_how_to_get_it(
    tmp_path: Path, supervising: ProcessIdentity
) -> None:
    with scripted_supervisor([process("valkey")]) as supervisor:
        leave_state(tmp_path, supervising, supervisor.control, valkey=20_001)
        with pytest.raises(StackError, match=r"runs without postgres, chat; run `querymill down`, then `querymill up`"):
            Stack(tmp_path).up(parts={StackPart.CHAT, StackPart.VALKEY, StackPart.POSTGRES})
        assert supervisor.started == []
    assert supervising.is_alive()


@pytest.mark.parametrize("programs", [[SLEEPER, SLEEPER], [Program(name="valkey", command=("true",))]])
def test_names_that_are_taken_are_refused_before_anything_is_created(tmp_path: Path, programs: list[Program]) -> None:
    with pytest.raises(ValueError, match="is taken"):
        Stack(tmp_path / "data").up(parts=(), programs=programs)
    assert list(tmp_path.iterdir()) == []


def test_down_ends_the_supervisor_and_forgets_the_stack_but_not_its_data(
    tmp_path: Path, supervising: ProcessIdentity
) -> None:
    leave_state(tmp_path, supervising)
    for name in ("programs.json", "supervisord.conf", "kept.txt"):
        (tmp_path / name).write_text("")
    Stack(tmp_path).down()
    assert not supervising.is_alive()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.txt", "stack.lock"]
    Stack(tmp_path).down()


def test_down_after_an_up_that_was_cut_ends_the_supervisor_of_the_pid_file(
    tmp_path: Path, supervising: ProcessIdentity
) -> None:
    (tmp_path / "supervisord.pid").write_text(str(supervising.pid))
    Stack(tmp_path).down()
    assert not supervising.is_alive()


def test_down_leaves_a_stranger_alone_that_has_the_pid_of_the_pid_file(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], cwd="/") as stranger:
        (tmp_path / "supervisord.pid").write_text(str(stranger.pid))
        Stack(tmp_path).down()
        assert stranger.poll() is None
        stranger.kill()


def test_a_temporary_stack_that_cannot_start_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ValueError, match="is taken"), temporary_stack(parts=(), programs=[SLEEPER, SLEEPER]):
        pytest.fail("it started")
    assert list(tmp_path.iterdir()) == []
