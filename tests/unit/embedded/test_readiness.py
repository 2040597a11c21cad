from pathlib import Path

import pytest

from querymill_embedded import readiness
from querymill_embedded.errors import StackError
from querymill_embedded.parts import StackPart
from querymill_embedded.readiness import await_ready
from querymill_embedded.supervisor import SupervisorClient
from tests.fakes.sockets import replying, serving
from tests.fakes.supervisor import ScriptedSupervisor, process, scripted_supervisor


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_PAUSE_S", 0.001)


def wait(
    supervisor: ScriptedSupervisor,
    data: Path,
    *programs: str,
    ports: dict[StackPart, int] | None = None,
    timeout_s: float = 5,
) -> None:
    client = SupervisorClient(supervisor.control)
    await_ready(client, ports=ports or {}, programs=programs, data=data, timeout_s=timeout_s)


def test_nothing_to_wait_for_is_ready(tmp_path: Path) -> None:
    with scripted_supervisor() as supervisor:
        wait(supervisor, tmp_path)


def test_a_program_is_ready_once_the_supervisor_calls_it_running(tmp_path: Path) -> None:
    looks = [[process("search", "STARTING")]] * 3 + [[process("search", "RUNNING")]]
    with scripted_supervisor(*looks) as supervisor:
        wait(supervisor, tmp_path, "search")
        assert len(supervisor.looks) == 1


def test_a_server_is_ready_in_its_first_second_if_it_passes_its_probe(tmp_path: Path) -> None:
    with scripted_supervisor([process("valkey", "STARTING")]) as supervisor, serving(replying(b"+PONG\r\n")) as port:
        wait(supervisor, tmp_path, ports={StackPart.VALKEY: port})


def test_a_running_server_is_not_ready_before_its_probe(tmp_path: Path) -> None:
    replies = [b"-LOADING\r\n", b"-LOADING\r\n", b"+PONG\r\n"]
    with (
        scripted_supervisor([process("valkey")]) as supervisor,
        serving(lambda connection: replying(replies.pop(0))(connection)) as port,
    ):
        wait(supervisor, tmp_path, ports={StackPart.VALKEY: port})
    assert replies == []


@pytest.mark.parametrize("state", ["STOPPED", "BACKOFF", "EXITED"])
def test_another_program_at_the_port_does_not_make_a_stopped_part_ready(tmp_path: Path, state: str) -> None:
    with (
        scripted_supervisor([process("valkey", state)]) as supervisor,
        serving(replying(b"+PONG\r\n")) as port,
        pytest.raises(StackError, match=r"valkey does not run: not ready after 0 s"),
    ):
        wait(supervisor, tmp_path, ports={StackPart.VALKEY: port}, timeout_s=0.03)


def test_a_part_is_asked_no_more_once_it_was_ready(tmp_path: Path) -> None:
    replies = [b"+PONG\r\n"]
    looks = [[process("valkey"), process("search", "STARTING")]] * 3 + [[process("valkey"), process("search")]]
    with (
        scripted_supervisor(*looks) as supervisor,
        serving(lambda connection: replying(replies.pop(0))(connection)) as port,
    ):
        wait(supervisor, tmp_path, "search", ports={StackPart.VALKEY: port})
    assert replies == []


def test_one_failed_start_is_an_accident(tmp_path: Path) -> None:
    looks = [[process("search", "BACKOFF", start=1)]] * 3 + [[process("search")]]
    with scripted_supervisor(*looks) as supervisor:
        wait(supervisor, tmp_path, "search")


def test_two_failed_starts_are_an_error_that_ends_with_the_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "search.log").write_text("no such broker\n")
    looks = [[process("search", "BACKOFF", start=1)], [process("search", "BACKOFF", start=2, spawnerr="too quick")]]
    with scripted_supervisor(*looks) as supervisor, pytest.raises(StackError) as caught:
        wait(supervisor, tmp_path, "search")
    assert str(caught.value).startswith("search does not run: too quick\n")
    assert str(caught.value).endswith("\n    no such broker")


def test_what_the_supervisor_gave_up_is_an_error_at_once_whatever_else_is_not_ready(tmp_path: Path) -> None:
    look = [process("slow", "STARTING"), process("broken", "FATAL", spawnerr="cannot find it")]
    with (
        scripted_supervisor(look) as supervisor,
        pytest.raises(StackError, match="broken does not run: cannot find it"),
    ):
        wait(supervisor, tmp_path, "slow", "broken", timeout_s=600)


def test_what_is_not_ready_in_time_is_named(tmp_path: Path) -> None:
    look = [process("search"), process("slow", "STARTING")]
    with (
        scripted_supervisor(look) as supervisor,
        pytest.raises(StackError, match="slow does not run: not ready after 0 s"),
    ):
        wait(supervisor, tmp_path, "search", "slow", timeout_s=0.02)
