import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from querymill_embedded.parts import StackPart
from querymill_embedded.processes import ProcessIdentity, this_process
from querymill_embedded.state import Control, StackState
from querymill_embedded.status import part_statuses
from querymill_embedded.supervisor import ProcessState
from tests.fakes.sockets import replying, serving
from tests.fakes.supervisor import process, scripted_supervisor


def state_of(control: Control, ports: dict[StackPart, int], supervisor: ProcessIdentity | None = None) -> StackState:
    return StackState(
        supervisor=supervisor or this_process(),
        control=control,
        ports=ports,
        programs={"search": None, "gateway": 8080},
        stop_within_s=1.0,
    )


@pytest.fixture
def ended() -> ProcessIdentity:
    with subprocess.Popen(["sleep", "60"]) as child:
        identity = ProcessIdentity.of(child.pid)
        child.kill()
    return identity


def test_parts_come_before_programs_each_with_its_state_address_log_and_uptime(tmp_path: Path) -> None:
    started = int(time.time()) - 100
    look = [
        process("gateway", group="programs", pid=3, start=started),
        process("search", "EXITED", group="programs"),
        process("valkey", pid=1, start=started),
    ]
    with scripted_supervisor(look) as supervisor:
        statuses = part_statuses(state_of(supervisor.control, {StackPart.VALKEY: 20_001}), tmp_path)
    assert [status.name for status in statuses] == ["valkey", "search", "gateway"]
    assert [status.state for status in statuses] == ["running", "exited", "running"]
    assert [status.pid for status in statuses] == [1, None, 3]
    assert [status.address for status in statuses] == ["127.0.0.1:20001", None, "127.0.0.1:8080"]
    assert [status.log.relative_to(tmp_path).as_posix() for status in statuses] == [
        "logs/valkey.log", "logs/search.log", "logs/gateway.log",
    ]  # fmt: skip
    assert [status.uptime_s for status in statuses] == [
        pytest.approx(100, abs=10), None, pytest.approx(100, abs=10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reported", "reply", "state"),
    [
        ("STARTING", b"+PONG\r\n", ProcessState.RUNNING),
        ("STARTING", b"-LOADING\r\n", ProcessState.STARTING),
        # It does not run, so another program serves its port.
        ("BACKOFF", b"+PONG\r\n", ProcessState.BACKOFF),
    ],
)
def test_a_server_in_its_first_second_is_running_if_it_passes_its_probe(
    tmp_path: Path, reported: str, reply: bytes, state: ProcessState
) -> None:
    look = [process("valkey", reported), process("search", "STARTING"), process("gateway")]
    with scripted_supervisor(look) as supervisor, serving(replying(reply)) as port:
        valkey, search, _ = part_statuses(state_of(supervisor.control, {StackPart.VALKEY: port}), tmp_path)
    assert (valkey.state, search.state) == (state, ProcessState.STARTING)


def test_without_its_supervisor_everything_is_dead(tmp_path: Path, ended: ProcessIdentity) -> None:
    with scripted_supervisor() as supervisor:
        control = supervisor.control
    statuses = part_statuses(state_of(control, {StackPart.CHAT: 20_001}, ended), tmp_path)
    assert {status.state for status in statuses} == {ProcessState.DEAD}
    assert [(status.pid, status.uptime_s, status.restarts) for status in statuses] == [(None, None, 0)] * 3
    assert statuses[0].address == "127.0.0.1:20001"


def test_under_a_supervisor_that_does_not_respond_everything_is_unknown(tmp_path: Path) -> None:
    with scripted_supervisor() as supervisor:
        control = supervisor.control
    statuses = part_statuses(state_of(control, {}), tmp_path)
    assert {status.state for status in statuses} == {ProcessState.UNKNOWN}


def test_a_process_that_the_supervisor_does_not_know_is_unknown_beside_the_others(tmp_path: Path) -> None:
    with scripted_supervisor([process("gateway")]) as supervisor:
        search, gateway = part_statuses(state_of(supervisor.control, {}), tmp_path)
    assert (search.state, gateway.state) == (ProcessState.UNKNOWN, ProcessState.RUNNING)


def test_restarts_are_those_under_the_present_supervisor(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    me = this_process()
    (tmp_path / "logs" / "supervisord.log").write_text(
        "INFO supervisord started with pid 1\nINFO spawned: 'search' with pid 2\n"
        f"INFO supervisord started with pid {me.pid}\n" + "INFO spawned: 'search' with pid 3\n" * 4
    )
    with scripted_supervisor([process("search"), process("gateway")]) as supervisor:
        state = replace(state_of(supervisor.control, {}), supervisor=me)
        assert [status.restarts for status in part_statuses(state, tmp_path)] == [3, 0]
