"""The command, folder and signals of each process, without starting any."""

import argparse
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from querymill_embedded import program as launcher_module
from querymill_embedded.errors import StackError
from querymill_embedded.parts import Program, StackPart
from querymill_embedded.passwords import choose_passwords
from querymill_embedded.processes import ProcessIdentity
from querymill_embedded.servers import leash_process, part_process, prepare_parts, program_process
from querymill_embedded.supervisor import StopGroup


@pytest.fixture
def data() -> Iterator[Path]:
    # Not pytest's own folder: only its owner may enter that, and under root PostgreSQL is somebody else.
    folder = Path(tempfile.mkdtemp(prefix="qm-servers-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


def options(command: tuple[str, ...]) -> dict[str, str]:
    """The options of a command of the form ``--name value``."""
    found = [index for index, word in enumerate(command) if word.startswith("--")]
    return {command[index]: command[index + 1] for index in found}


def test_valkey_loses_nothing_evicts_nothing_and_listens_on_the_loopback_only(data: Path) -> None:
    process = part_process(StackPart.VALKEY, data=data, port=20_001, durable=True)
    assert process.program.command[0].endswith("/valkey-server")
    assert options(process.program.command) == {
        "--bind": "127.0.0.1",
        "--port": "20001",
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--maxmemory-policy": "noeviction",
        "--daemonize": "no",
    }


def test_the_password_of_valkey_is_in_a_private_file_and_not_in_its_command(data: Path) -> None:
    password = choose_passwords([StackPart.VALKEY], data)[StackPart.VALKEY]
    command = part_process(StackPart.VALKEY, data=data, port=20_001, durable=True).program.command
    configuration = Path(command[1])
    assert configuration.read_text() == f"requirepass {password}\n"
    assert stat.S_IMODE(configuration.stat().st_mode) == 0o600
    assert password not in " ".join(command)


@pytest.mark.parametrize(
    ("part", "module"),
    [(StackPart.EMBEDDINGS, "querymill_embedded.embedding_server"), (StackPart.CHAT, "querymill_embedded.chat_server")],
)
def test_a_model_is_served_by_a_module_of_this_package(data: Path, part: StackPart, module: str) -> None:
    process = part_process(part, data=data, port=20_003, durable=True)
    assert process.program.command == (sys.executable, "-P", "-m", module, "--port", "20003")
    assert process.autostart


@pytest.mark.parametrize("part", list(StackPart))
def test_every_part_has_a_private_folder_of_its_own_among_the_servers(data: Path, part: StackPart) -> None:
    process = part_process(part, data=data, port=20_001, durable=False)
    assert (process.folder, process.group, process.program.name) == (data / part, StopGroup.SERVERS, part.value)
    assert stat.S_IMODE(process.folder.stat().st_mode) == 0o700
    assert process.program.stop_wait_s > 0
    assert part_process(part, data=data, port=20_001, durable=False) == process


def test_postgres_waits_for_its_cluster_and_stops_without_waiting_for_clients(data: Path) -> None:
    process = part_process(StackPart.POSTGRES, data=data, port=20_004, durable=True)
    assert not process.autostart
    assert process.program.stop_signal == "INT"
    assert "fsync=off" not in process.program.command


def test_a_program_is_started_by_the_launcher_and_keeps_what_it_asked_for(data: Path) -> None:
    program = Program(name="search", command=("celery", "-A", "x"), environment={"KEY": "HUNTER"}, stop_wait_s=25)
    process = program_process(program, data)
    *launcher, path, name = process.program.command
    assert launcher == [
        sys.executable,
        "-I",
        launcher_module.__file__,
    ]
    assert (path, name) == (str(data / "programs.json"), "search")
    assert (process.program.stop_wait_s, process.group, process.autostart) == (25, StopGroup.PROGRAMS, False)
    assert "HUNTER" not in " ".join(process.program.command)


def test_the_leash_is_given_its_owner_exactly(data: Path) -> None:
    owner = ProcessIdentity(4711, 1763770000.1234567)
    process = leash_process(data, owner)
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--created", type=float)
    given = parser.parse_args(process.program.command[4:])
    assert (given.data, ProcessIdentity(given.pid, given.created)) == (data, owner)
    assert process.group is StopGroup.LEASH
    assert process.autostart


def test_a_data_folder_that_the_account_of_the_server_cannot_enter_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    tmp_path.chmod(0o700)
    with pytest.raises(StackError, match="may not enter"):
        part_process(StackPart.POSTGRES, data=tmp_path, port=20_004, durable=True)


def test_without_postgres_there_is_nothing_to_prepare(tmp_path: Path) -> None:
    prepare_parts({StackPart.VALKEY: 20_001, StackPart.CHAT: 20_002}, data=tmp_path, durable=True)
    assert list(tmp_path.iterdir()) == []
