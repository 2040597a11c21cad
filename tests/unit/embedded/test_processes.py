import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from querymill_embedded.processes import (
    STACK_VARIABLE,
    ProcessIdentity,
    end_session,
    leftovers,
    listens,
    stop_all,
    supervisor_by_pid_file,
    this_process,
)

#: Leads a session, starts two sleepers, and tells their pids.
LEADER = """
import subprocess, sys, time
sleepers = [subprocess.Popen(["sleep", "60"], cwd=folder) for folder in sys.argv[1:]]
print(*(sleeper.pid for sleeper in sleepers), flush=True)
time.sleep(60)
"""


def test_a_pid_that_was_given_to_somebody_else_is_not_the_process() -> None:
    me = this_process()
    assert me.is_alive()
    assert not ProcessIdentity(me.pid, me.created - 3600).is_alive()


def test_a_process_that_only_waits_to_be_reaped_is_not_alive() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        identity = ProcessIdentity.of(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not identity.is_alive()


def test_leftovers_of_a_dead_supervisor_are_those_of_its_session_that_belong_to_the_folder(tmp_path: Path) -> None:
    leader = subprocess.Popen(
        [sys.executable, "-c", LEADER, str(tmp_path), "/"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name != STACK_VARIABLE},
    )
    assert leader.stdout is not None
    with leader, leader.stdout:
        ours, stranger = (psutil.Process(int(pid)) for pid in leader.stdout.readline().split())
        supervisor = ProcessIdentity.of(leader.pid)
        leader.kill()
    try:
        assert leftovers(supervisor, tmp_path) == [ours]
        end_session(supervisor, tmp_path, wait_s=5)
        assert leftovers(supervisor, tmp_path) == []
        assert stranger.status() == psutil.STATUS_SLEEPING
    finally:
        stranger.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("content", ["", "no number", "999999999"])
def test_a_pid_file_that_leads_nowhere_names_no_supervisor(tmp_path: Path, content: str) -> None:
    pid_file = tmp_path / "supervisord.pid"
    assert supervisor_by_pid_file(pid_file, tmp_path) is None
    pid_file.write_text(content)
    assert supervisor_by_pid_file(pid_file, tmp_path) is None


def test_a_pid_file_with_the_pid_of_a_stranger_names_no_supervisor(tmp_path: Path) -> None:
    pid_file = tmp_path / "supervisord.pid"
    pid_file.write_text(str(os.getpid()))
    assert supervisor_by_pid_file(pid_file, tmp_path) is None


CHILD_LISTENS = """
import subprocess, sys
code = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); "
code += "time.sleep(600)"
subprocess.run([sys.executable, "-c", code])
"""


def test_a_port_belongs_to_the_process_that_listens_and_to_who_started_it() -> None:
    parent = subprocess.Popen([sys.executable, "-c", CHILD_LISTENS], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        port = int(parent.stdout.readline())
        (child,) = psutil.Process(parent.pid).children()
        assert listens(parent.pid, port)
        assert listens(child.pid, port)
        with socket.create_server(("127.0.0.1", 0)) as other:
            assert listens(os.getpid(), other.getsockname()[1])
            assert not listens(parent.pid, other.getsockname()[1])
    finally:
        stop_all([*psutil.Process(parent.pid).children(), psutil.Process(parent.pid)])
        parent.wait()
        parent.stdout.close()
    assert not listens(parent.pid, port)
