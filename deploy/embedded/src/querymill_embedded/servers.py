"""The command, folder and signals of each supervised process."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from querymill_embedded.parts import LOOPBACK, Program, StackPart
from querymill_embedded.passwords import Password
from querymill_embedded.postgres import (
    Cluster,
    check_data_folder,
    create_cluster,
    demand_password,
    programs_folder,
    server_account,
    server_command,
)
from querymill_embedded.processes import ProcessIdentity
from querymill_embedded.state import PROGRAMS_FILE, write_private
from querymill_embedded.supervisor import StopGroup, Supervised
from querymill_embedded.wheels import valkey_server


def part_process(part: StackPart, *, data: Path, port: int, durable: bool) -> Supervised:
    """Return the supervised process of a part, and create its folder in the data folder.

    Raises:
        StackError: the part cannot run here; the message says why and what to do.
    """
    folder = data / part
    folder.mkdir(mode=0o700, exist_ok=True)
    match part:
        case StackPart.VALKEY:
            return _process(part, folder, _valkey(data, folder, port), stop_wait_s=10)
        case StackPart.POSTGRES:
            return _postgres(data, port, durable=durable)
        case StackPart.EMBEDDINGS:
            return _process(part, folder, _launcher("embedding_server", port), stop_wait_s=3)
        case StackPart.CHAT:
            return _process(part, folder, _launcher("chat_server", port), stop_wait_s=3)
        case _:
            assert_never(part)


def program_process(program: Program, data: Path) -> Supervised:
    """Return the supervised process of a caller's program: `program.py`, which reads the program and becomes it."""
    becoming = str(Path(__file__).with_name("program.py"))
    launcher = (sys.executable, "-I", becoming, str(data / PROGRAMS_FILE), program.name)
    return Supervised(
        program=replace(program, command=launcher),
        folder=data,
        group=StopGroup.PROGRAMS,
        autostart=False,
    )


def leash_process(data: Path, owner: ProcessIdentity) -> Supervised:
    """Return the process that stops the stack in `data` when its owner has ended."""
    words = ("--data", str(data), "--pid", str(owner.pid), "--created", repr(owner.created))
    command = (sys.executable, "-P", "-m", "querymill_embedded.leash", *words)
    return Supervised(program=Program(name="leash", command=command, stop_wait_s=2), folder=data, group=StopGroup.LEASH)


def prepare_parts(ports: Mapping[StackPart, int], *, data: Path, durable: bool) -> None:
    """Do the work that a part needs before its first start: create the database cluster, and set its password."""
    if StackPart.POSTGRES in ports:
        cluster = _cluster(data, durable=durable)
        binaries = programs_folder(cluster.account)
        create_cluster(cluster, binaries)
        password = Password.of(StackPart.POSTGRES, data)
        if password is not None and not password.is_set:
            demand_password(cluster, binaries, password.value)
            password.keep()


def _process(part: StackPart, folder: Path, command: tuple[str, ...], *, stop_wait_s: float) -> Supervised:
    program = Program(name=part, command=command, stop_wait_s=stop_wait_s)
    return Supervised(program=program, folder=folder, group=StopGroup.SERVERS)


def _valkey(data: Path, folder: Path, port: int) -> tuple[str, ...]:
    # Everybody on the machine can read a command line, so the password is in a file.
    configuration = folder / "valkey.conf"
    password = Password.of(StackPart.VALKEY, data)
    write_private(configuration, "" if password is None else f"requirepass {password.value}\n")
    if password is not None:
        password.keep()
    options = {
        "bind": LOOPBACK,
        "port": str(port),
        "appendonly": "yes",
        "appendfsync": "everysec",
        # The append-only file has every write. Snapshots would only cost forks.
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    words = (word for name, value in options.items() for word in (f"--{name}", value))
    return (str(valkey_server()), str(configuration), *words)


def _launcher(module: str, port: int, *options: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", f"querymill_embedded.{module}", "--port", str(port), *options)


def _cluster(data: Path, *, durable: bool) -> Cluster:
    account = server_account(os.geteuid())
    check_data_folder(data, account)
    return Cluster(folder=data / StackPart.POSTGRES, account=account, durable=durable)


def _postgres(data: Path, port: int, *, durable: bool) -> Supervised:
    cluster = _cluster(data, durable=durable)
    command = server_command(cluster, programs_folder(cluster.account), port)
    return Supervised(
        # SIGINT closes connections and writes a checkpoint. SIGTERM would wait for the last client.
        program=Program(name=StackPart.POSTGRES, command=command, stop_signal="INT", stop_wait_s=30),
        folder=cluster.folder,
        group=StopGroup.SERVERS,
        user=None if cluster.account is None else cluster.account.name,
        autostart=False,
    )
