"""The client of the supervisor, over its real protocol."""

import pytest

from querymill_embedded.errors import StackError
from querymill_embedded.state import Control
from querymill_embedded.supervisor import ProcessReport, ProcessState, SupervisorClient
from tests.fakes.sockets import replying, serving
from tests.fakes.supervisor import process, scripted_supervisor


def test_processes_are_reported_by_name_with_what_the_supervisor_says() -> None:
    look = [
        process("valkey", description="pid 12, uptime 0:00:03", pid=12, start=99),
        process("search", "FATAL", group="programs", spawnerr="Exited too quickly (process log may have details)"),
    ]
    with scripted_supervisor(look) as supervisor:
        reports = SupervisorClient(supervisor.control).processes()
    assert reports == {
        "valkey": ProcessReport("valkey", "servers", ProcessState.RUNNING, 12, 99, "pid 12, uptime 0:00:03"),
        "search": ProcessReport(
            "search", "programs", ProcessState.FATAL, None, 1_000, "Exited too quickly (process log may have details)"
        ),
    }


@pytest.mark.parametrize("state", sorted(set(ProcessState) - {ProcessState.DEAD}))
def test_every_state_of_supervisord_is_known(state: ProcessState) -> None:
    with scripted_supervisor([process("valkey", state.upper())]) as supervisor:
        assert SupervisorClient(supervisor.control).processes()["valkey"].state is state


def test_a_process_is_started_by_group_and_name_without_waiting() -> None:
    with scripted_supervisor(pid=77) as supervisor:
        client = SupervisorClient(supervisor.control)
        client.start("programs", "search")
        assert client.pid() == 77
    assert supervisor.started == ["programs:search"]


def test_starting_a_process_that_runs_does_nothing_and_any_other_refusal_is_named() -> None:
    with scripted_supervisor() as supervisor:
        supervisor.refuses = {
            "servers:valkey": (60, "ALREADY_STARTED: valkey"), "servers:chat": (50, "SPAWN_ERROR: chat"),
        }  # fmt: skip
        client = SupervisorClient(supervisor.control)
        client.start("servers", "valkey")
        with pytest.raises(StackError, match="chat cannot be started: SPAWN_ERROR"):
            client.start("servers", "chat")


def test_a_wrong_password_a_closed_port_and_garbage_are_a_supervisor_that_does_not_respond() -> None:
    with scripted_supervisor() as supervisor:
        stranger = Control(supervisor.control.port, user="querymill", password="guessed")
        with pytest.raises(StackError, match=r"supervisor does not respond: .*401"):
            SupervisorClient(stranger).pid()
    with pytest.raises(StackError, match=r"supervisor does not respond: .*refused"):
        SupervisorClient(supervisor.control).pid()
    with serving(replying(b"garbage\r\n\r\n")) as port, pytest.raises(StackError, match="does not respond"):
        SupervisorClient(Control(port, user="querymill", password="secret")).pid()


def test_an_error_of_the_client_never_holds_the_password() -> None:
    with scripted_supervisor() as supervisor, pytest.raises(StackError) as caught:
        SupervisorClient(Control(supervisor.control.port, user="querymill", password="topsecret")).pid()
    assert "topsecret" not in str(caught.value)
